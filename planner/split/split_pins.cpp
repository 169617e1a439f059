#include "planner/split/split_pins.hpp"

#include <algorithm>

namespace znni {
namespace {

Error wrong(const Pins& pins, const std::string& why) {
  return {ErrorCode::invalid_argument, "--theta " + pins.theta + ": " + why};
}

// Finds theta in a text. The number of nodes itself stands for no segment on the GPU alone.
std::optional<int> find_theta(const Network& network, const std::string& text) {
  if (const std::optional<std::size_t> node = find_node(network, text)) return static_cast<int>(*node);
  if (text == std::to_string(network.nodes.size())) return static_cast<int>(network.nodes.size());
  return std::nullopt;
}

std::string layers_text(const Network& network) {
  const std::string count = std::to_string(network.nodes.size());
  return network.name + " has " + count + (count == "1" ? " layer" : " layers") + " (" + network.nodes.front().name +
         " to " + network.nodes.back().name + "); write a number from 0 to " + count + " or a layer's name";
}

// Returns "2 and 5" of the rising `cuts` around theta, which is not one of them; 0 and the number of nodes always are.
std::string nearest_text(const std::vector<int>& cuts, int theta) {
  const auto above = std::upper_bound(cuts.begin(), cuts.end(), theta);
  return std::to_string(*std::prev(above)) + " and " + std::to_string(*above);
}

}  // namespace

Result<CutLimits> pinned_cuts(const Network& network, SplitStrategy strategy, const Pins& pins) {
  CutLimits limits{strategy == SplitStrategy::cpu_gpu, strategy != SplitStrategy::gpu, {}};
  if (pins.theta.empty()) return limits;
  const std::optional<int> theta = find_theta(network, pins.theta);
  if (!theta) return wrong(pins, layers_text(network));
  const std::vector<int> cuts = cuts_of(network);
  if (!std::binary_search(cuts.begin(), cuts.end(), *theta)) {
    return wrong(pins, "more than one tensor is alive before " + network.nodes[static_cast<std::size_t>(*theta)].name +
                           "; the nearest that fit: " + nearest_text(cuts, *theta));
  }
  if (strategy == SplitStrategy::gpu && *theta > 0) {
    return wrong(pins,
                 "--strategy gpu runs the whole net on the GPU; write --theta 0, or --strategy gpu-host-ram or "
                 "cpu-gpu");
  }
  limits.until = theta;
  return limits;
}

Result<void> check_split_modes(const Pins& pins) {
  const auto holds = [](const PoolingMode& mode) { return mode.holds(); };
  const auto found = std::find_if(pins.modes.begin(), pins.modes.end(), holds);
  if (found == pins.modes.end()) return {};
  return Error{ErrorCode::invalid_argument, modes_flag(pins.modes) + ": " + to_string(*found) +
                                                " holds the pooling's input, which plans with a GPU cannot do; write " +
                                                to_string(*found) + ":recompute"};
}

}  // namespace znni
