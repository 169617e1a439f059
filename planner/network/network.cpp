#include "planner/network/network.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include "planner/network/named_tensors.hpp"
#include "planner/network/network_reach.hpp"
#include "planner/network/network_weights.hpp"
#include "planner/network/operation_check.hpp"
#include "planner/network/operations/all.hpp"
#include "planner/network/output_stride.hpp"
#include "planner/network/reflections.hpp"
#include "planner/network/stacks.hpp"
#include "planner/network/tile_bound.hpp"
#include "primitives/core/index.hpp"

namespace znni {
namespace {

constexpr std::int64_t max_stride = std::int64_t{1} << 12;
constexpr std::int64_t max_parameters = std::int64_t{1} << 58;

Error invalid(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

// Returns the channels of node `node`, given those of the values before it.
std::int64_t channels_after(const Node& node, const std::vector<std::int64_t>& channels) {
  return by_rules(node.operation,
                  [&](const auto& rules, const auto& own) { return rules.channels(own, node.inputs, channels); });
}

// Checks a border. Voxels of the volume that a node leaves out count below 0.
Result<void> check_beyond(const Border& beyond, int spatial_rank) {
  if (!covers(min(beyond.begin, beyond.end), Vec3::cube(-max_reach))) return invalid("beyond is below -2^20");
  return check_border("beyond", {max(beyond.begin, {}), max(beyond.end, {})}, spatial_rank);
}

Result<void> check_inputs(const Node& node, int value) {
  if (Result<void> sound = check_input_count(node.operation, node.inputs.size()); !sound) return sound;
  for (const int input : node.inputs) {
    if (input >= 0 && input < value) continue;
    return invalid("reads value " + std::to_string(input) + "; it may read [0, " + std::to_string(value) + ")");
  }
  return {};
}

std::string value_name(const Network& network, int value) {
  return value == 0 ? network.input_name : network.nodes[index(value - 1)].name;
}

// The state of a walk over the values in order.
struct Walk {
  std::vector<Reach> reach = {Reach{}};
  std::vector<std::int64_t> channels;
  std::int64_t parameters = 0;
};

Result<void> check_meeting(const Network& network, const Node& node, const Walk& walk) {
  std::vector<InputValue> inputs;
  for (const int input : node.inputs) {
    inputs.push_back({value_name(network, input), walk.reach[index(input)], walk.channels[index(input)]});
  }
  return check_meeting(node.operation, inputs);
}

Result<void> check_limits(const Walk& walk) {
  const Reach& reach = walk.reach.back();
  if (!covers(Vec3::cube(max_reach), reach.fov) || !covers(Vec3::cube(max_stride), reach.stride)) {
    return invalid(reach_text(reach) + " is over the limits: field of view 2^20, stride 2^12");
  }
  if (walk.channels.back() > max_channels) {
    return invalid("writes " + std::to_string(walk.channels.back()) + " channels; the limit is 2^24");
  }
  if (walk.parameters > max_parameters) return invalid("the network has more than 2^58 parameters");
  return {};
}

Result<void> check_alone(const Node& node, int value, int spatial_rank) {
  if (Result<void> sound = check_inputs(node, value); !sound) return sound;
  if (Result<void> sound = check_operation(node.operation, spatial_rank); !sound) return sound;
  if (Result<void> sound = check_border("outside", node.outside, spatial_rank); !sound) return sound;
  return check_beyond(node.beyond, spatial_rank);
}

Result<void> check_node(const Network& network, int number, Walk& walk) {
  const Node& node = network.nodes[index(number)];
  if (Result<void> sound = check_alone(node, number + 1, network.spatial_rank); !sound) return sound;
  if (Result<void> sound = check_meeting(network, node, walk); !sound) return sound;
  const std::int64_t f = walk.channels[index(node.inputs.front())];
  walk.parameters = add(walk.parameters, parameter_count(weight_sizes(node.operation, f)));
  walk.reach.push_back(reach_after(node.operation, walk.reach[index(node.inputs.front())]));
  walk.channels.push_back(channels_after(node, walk.channels));
  return check_limits(walk);
}

Result<void> check_names(const Network& network) {
  std::set<std::string_view> names = {network.input_name};
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    const std::string& name = network.nodes[i].name;
    if (Result<void> sound = check_name("node " + std::to_string(i), name); !sound) return sound;
    if (names.insert(name).second) continue;
    return invalid("node " + std::to_string(i) + ": the name " + name +
                   (name == network.input_name ? " is the input's" : " is taken by an earlier node"));
  }
  return {};
}

Result<void> check_all_used(const Network& network) {
  const std::vector<int> readers = last_readers(network);
  for (std::size_t value = 0; value + 1 < readers.size(); ++value) {
    if (readers[value] >= 0) continue;
    return invalid("node " + value_name(network, static_cast<int>(value)) + " has no path to the output");
  }
  return {};
}

// Checks what padding, or strides of the network's own, ask of it; its reaches are known.
Result<void> check_frame(const Network& network, const Walk& walk) {
  if (Result<void> sound = check_border("frame", network.frame, network.spatial_rank); !sound) return sound;
  const Vec3 least = network.min_volume;
  if (!covers(least, Vec3::cube(1)) || !covers(Vec3::cube(max_reach), least)) {
    return invalid("min_volume, " + to_string(least) + ", is not within 1 and 2^20");
  }
  const bool pads = padded_axes(network) != Vec3{};
  if (!pads && !is_strided(network)) return {};
  const Reach& reach = walk.reach.back();
  if (reach.stride != Vec3::cube(1)) {
    const std::string why = pads ? "a node pads" : "a node has a stride of its own";
    return invalid(why + ", and the output has a stride of " + to_string(reach.stride) +
                   "; a last upsampling by as much is right");
  }
  if (covers(reach.fov, network.frame.begin + network.frame.end + Vec3::cube(1))) return {};
  const Vec3 stride = network.output_stride;
  const bool repeats = stride != Vec3::cube(1);
  return invalid("the output is larger than the volume, which is not supported" +
                 (repeats ? ": each of its voxels stands for " + to_string(stride) + " of the volume's" : ""));
}

// Checks that extents fit all strides, and that poolings of networks with strides of their own keep the first offset.
Result<void> check_extents(const Network& network) {
  if (!is_strided(network)) return {};
  if (const std::vector<int> dense = pooling_nodes(network); !dense.empty()) {
    return invalid("node " + network.nodes[index(dense.front())].name +
                   " is a dense pooling in a network with strides of its own");
  }
  if (const Vec3 along = period(network); !covers(Vec3::cube(max_stride), along)) {
    return invalid("the strides come together every " + to_string(along) + " voxels; the limit is 2^12");
  }
  const Result<Vec3> least = find_min_extent(network);
  return least ? Result<void>() : least.error();
}

}  // namespace

Result<void> check(const Network& network) {
  if (network.spatial_rank < 1 || network.spatial_rank > 3) {
    return invalid("spatial rank " + std::to_string(network.spatial_rank) + " is not in [1, 3]");
  }
  if (network.f_in < 1 || network.f_in > max_channels) {
    return invalid("f_in = " + std::to_string(network.f_in) + " is not in [1, 2^24]");
  }
  if (network.nodes.empty()) return invalid("the network has no nodes");
  if (Result<void> sound = check_name("the input", network.input_name); !sound) return sound;
  if (Result<void> sound = check_name("the output", network.output_name); !sound) return sound;
  if (Result<void> sound = check_inputs(network); !sound) return sound;
  if (Result<void> sound = check_names(network); !sound) return sound;
  Walk walk;
  walk.channels = {network.f_in};
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    if (Result<void> sound = check_node(network, static_cast<int>(i), walk); !sound) {
      return sound.error().within("node " + network.nodes[i].name);
    }
  }
  if (Result<void> sound = check_outputs(network, walk.channels.back()); !sound) return sound;
  if (Result<void> sound = check_frame(network, walk); !sound) return sound;
  if (Result<void> sound = check_extents(network); !sound) return sound;
  if (Result<void> sound = check_reflections(network); !sound) return sound;
  if (Result<void> sound = check_stacks(network); !sound) return sound;
  if (Result<void> sound = check_output_stride(network); !sound) return sound;
  if (Result<void> sound = check_window(network); !sound) return sound;
  return check_all_used(network);
}

Result<void> check_nodes(const Network& network) {
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    const Node& node = network.nodes[i];
    Result<void> sound = check_alone(node, static_cast<int>(i) + 1, network.spatial_rank);
    if (!sound) return sound.error().within("node " + node.name);
  }
  return {};
}

std::vector<std::int64_t> channels_of(const Network& network) {
  std::vector<std::int64_t> result = {network.f_in};
  for (const Node& node : network.nodes) result.push_back(channels_after(node, result));
  return result;
}

std::vector<int> last_readers(const Network& network) {
  std::vector<int> result(network.nodes.size() + 1, -1);
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    for (const int input : network.nodes[i].inputs) result[index(input)] = static_cast<int>(i);
  }
  result.back() = static_cast<int>(network.nodes.size());
  return result;
}

std::optional<std::size_t> find_node(const Network& network, const std::string& text) {
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    if (network.nodes[i].name == text) return i;
  }
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    if (std::to_string(i) == text) return i;
  }
  return std::nullopt;
}

std::vector<int> pooling_nodes(const Network& network) {
  std::vector<int> result;
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    const auto* pool = std::get_if<Pooling>(&network.nodes[i].operation);
    if (pool != nullptr && !pool->strided) result.push_back(static_cast<int>(i));
  }
  return result;
}

std::int64_t weight_bytes(const Network& network) {
  const std::vector<std::int64_t> f = channels_of(network);
  std::int64_t sum = 0;
  for (const Node& node : network.nodes) {
    sum = add(sum, parameter_count(weight_sizes(node.operation, f[index(node.inputs.front())])));
  }
  return mul(sum, static_cast<std::int64_t>(sizeof(float)));
}

}  // namespace znni
