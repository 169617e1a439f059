#include "planner/network/channel_numbers.hpp"

#include <algorithm>
#include <vector>

#include "planner/network/operation_traits.hpp"
#include "primitives/core/index.hpp"

namespace znni {
namespace {

bool is_arg_max(const Node& node) {
  const auto* across = std::get_if<AcrossChannels>(&node.operation);
  return across != nullptr && makes_one_channel(across->kind);
}

}  // namespace

std::int64_t largest_channel_number(const Network& network) {
  const std::vector<std::int64_t> channels = channels_of(network);
  std::vector<std::int64_t> largest = {0};  // per value
  for (const Node& node : network.nodes) {
    const int input = node.inputs.front();
    std::int64_t own = is_arg_max(node) ? channels[index(input)] - 1 : 0;
    if (traits_of(node.operation).passes_numbers_on) {
      for (const int each : node.inputs) own = std::max(own, largest[index(each)]);
    }
    largest.push_back(own);
  }
  return largest.back();
}

const Node* find_arg_max(const Network& network) {
  const auto found = std::find_if(network.nodes.begin(), network.nodes.end(), is_arg_max);
  return found == network.nodes.end() ? nullptr : &*found;
}

}  // namespace znni
