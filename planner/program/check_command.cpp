#include "planner/program/check_command.hpp"

#include <cstdio>

#include "planner/program/valid_command.hpp"
#include "planner/report/network_check.hpp"
#include "proto/convert/network_file.hpp"

namespace znni {

Result<bool> check_command(const PlannerOptions& options) {
  if (options.valid_output) return valid_command(options);
  const std::string& file = options.files.front();
  const auto print = [&](const auto& answer) {
    std::fputs((options.json ? check_json(file, answer) : check_text(file, answer)).c_str(), stdout);
  };
  Blockers blockers;
  const Result<LoadedNetwork> loaded =
      read_network_file(file, {saturated, options.outputs, options.weights}, &blockers);
  if (!loaded && blockers.kinds.empty()) return loaded.error();
  if (loaded) {
    print(facts_of(loaded->network));
  } else {
    print(blockers);
  }
  return loaded.has_value();
}

}  // namespace znni
