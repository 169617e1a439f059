#include "planner/network/named_outputs.hpp"

#include <algorithm>
#include <set>
#include <string>

namespace znni {
namespace {

Error invalid(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

}  // namespace

std::vector<NamedOutput> named_outputs(const Network& network) {
  if (!network.outputs.empty()) return network.outputs;
  return {{network.output_name, images(network).back()}};
}

Result<void> check_name(std::string_view what, std::string_view name) {
  if (name.empty()) return invalid(std::string(what) + " has no name");
  const bool plain = std::none_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  if (!plain) return invalid(std::string(what) + " has control characters in its name");
  return {};
}

Result<void> check_outputs(const Network& network, std::int64_t channels) {
  if (network.outputs.empty()) return {};
  if (network.outputs.size() == 1) return invalid("a list of outputs has one; the output's name says it");
  std::set<std::string> names;
  std::int64_t sum = 0;
  for (const NamedOutput& output : network.outputs) {
    if (Result<void> sound = check_name("an output", output.name); !sound) return sound;
    if (!names.insert(output.name).second) return invalid("output " + output.name + " stands twice");
    if (output.channels < 1) return invalid("output " + output.name + " has no channels");
    sum = add(sum, output.channels);
  }
  if (sum == channels) return {};
  return invalid("the outputs have " + std::to_string(sum) + " channels in all; the last node writes " +
                 std::to_string(channels));
}

}  // namespace znni
