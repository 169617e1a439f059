#include "planner/program/draw_command.hpp"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <iostream>

#include "planner/base/repository.hpp"
#include "planner/base/text_table.hpp"
#include "proto/convert/network_file.hpp"
#include "proto/convert/text/plan_text.hpp"

namespace znni {
namespace {

Result<void> write_one(const std::filesystem::path& folder, const std::string& name, const Plan& plan) {
  const std::string path = folder / (name + ".pbtxt");
  if (Result<void> written = write_plan(path, plan); !written) return written;
  const GeometryChoice& choice = plan.ladder.front().geometry;
  std::printf("%s: %s%s, S %d, %s a patch, %s, %s\n", path.c_str(), to_string(choice.pass_input).c_str(),
              choice.streamed ? " streamed" : "", static_cast<int>(choice.S),
              seconds_text(plan.predicted.seconds).c_str(), rate_text(plan.predicted.voxels_per_second).c_str(),
              bytes_text(plan.memory.total()).c_str());
  return {};
}

Result<void> write_all(const std::filesystem::path& folder, const std::string& kind,
                       const Result<std::vector<Plan>>& plans) {
  if (!plans) return plans.error();
  for (std::size_t i = 0; i < plans->size(); ++i) {
    if (Result<void> written = write_one(folder, kind + "-" + std::to_string(i + 1), (*plans)[i]); !written) {
      return written;
    }
  }
  return {};
}

}  // namespace

Result<void> draw_command(Session& session) {
  const PlannerOptions& options = session.options;
  const Result<LoadedNetwork> loaded = read_network_file(options.model, {saturated, options.outputs, options.weights});
  if (!loaded) return loaded.error();
  const Network& network = loaded->network;
  const std::filesystem::path folder = options.output;
  if (Result<void> made = make_parents(folder / "chosen.pbtxt"); !made) return made;
  const Result<Plan> chosen = make_plan(network, session, nullptr);
  if (!chosen) return chosen.error();
  if (Result<void> written = write_one(folder, "chosen", *chosen); !written) return written;
  Progress progress(std::cerr, isatty(STDERR_FILENO) == 1);
  progress.tell("drawing plans");
  const SearchOptions search = search_options(network, session, progress);
  const std::unique_ptr<CostSource> costs = session_costs(session);
  const auto drawn = draw_plans(network, session.spec, session.catalogue, *costs, search, options.draw);
  if (Result<void> written = write_all(folder, "random", drawn); !written) return written;
  DrawOptions near = options.draw;
  near.count = options.neighbours;
  return write_all(folder, "neighbour",
                   neighbours(*chosen, network, session.spec, session.catalogue, *costs, search, near));
}

}  // namespace znni
