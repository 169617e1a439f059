#include "planner/network/network.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>

#include "planner/network/named_tensors.hpp"
#include "planner/network/network_reach.hpp"
#include "planner/network/output_stride.hpp"
#include "planner/network/tile_bound.hpp"
#include "primitives/core/index.hpp"
#include "primitives/core/overloaded.hpp"

namespace znni {
namespace {

constexpr std::array<char, 3> axis_names = {'z', 'y', 'x'};
// Far beyond any net of use; keeps all arithmetic on extents from overflowing.
constexpr std::int64_t max_reach = std::int64_t{1} << 20;
constexpr std::int64_t max_stride = std::int64_t{1} << 12;
constexpr std::int64_t max_images = std::int64_t{1} << 24;
constexpr std::int64_t max_parameters = std::int64_t{1} << 58;

Error invalid(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

// Images of node `node`, given those of the values before it.
std::int64_t images_after(const Node& node, const std::vector<std::int64_t>& images) {
  if (const auto* conv = std::get_if<Convolution>(&node.operation)) return conv->f_out;
  if (const auto* up = std::get_if<Upsample>(&node.operation); up != nullptr && up->kind == UpsampleKind::shuffle) {
    return images[index(node.inputs.front())] / voxels(up->factor);
  }
  const auto* across = std::get_if<AcrossChannels>(&node.operation);
  if (across != nullptr && makes_one_channel(across->kind)) return 1;
  const bool concatenates = std::holds_alternative<Concat>(node.operation);
  std::int64_t sum = 0;
  for (const int input : node.inputs) sum = add(sum, images[index(input)]);
  return concatenates ? sum : images[index(node.inputs.front())];
}

std::int64_t parameter_count(const Operation& operation, std::int64_t f) {
  if (const auto* conv = std::get_if<Convolution>(&operation)) {
    return add(mul(mul(f / conv->groups, conv->f_out), voxels(conv->k)), conv->f_out);
  }
  const bool per_image = std::holds_alternative<ScaleShift>(operation) || std::holds_alternative<Norm>(operation);
  return per_image ? mul(2, f) : 0;
}

// At least `least` along each axis, and no more along those that the rank lacks.
Result<void> check_within(std::string_view name, Vec3 value, std::int64_t least, int spatial_rank) {
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t most = axis < 3 - spatial_rank ? least : max_reach;
    if (value[axis] >= least && value[axis] <= most) continue;
    return invalid(std::string(name) + "." + axis_names[index(axis)] + " = " + std::to_string(value[axis]) +
                   " is not in [" + std::to_string(least) + ", " + std::to_string(most) + "]");
  }
  return {};
}

Result<void> check_positive(std::string_view name, Vec3 value, int spatial_rank) {
  return check_within(name, value, 1, spatial_rank);
}

Result<void> check_activation(Activation activation) {
  if (!std::isfinite(activation.alpha)) return invalid("alpha of the activation is not finite");
  return {};
}

Result<void> check_convolution(const Convolution& conv, int spatial_rank) {
  if (conv.f_out < 1 || conv.f_out > max_images) {
    return invalid("f_out = " + std::to_string(conv.f_out) + " is not in [1, 2^24]");
  }
  if (conv.groups < 1) return invalid("groups = " + std::to_string(conv.groups) + " is below 1");
  if (Result<void> sound = check_positive("k", conv.k, spatial_rank); !sound) return sound;
  if (Result<void> sound = check_positive("dilation", conv.dilation, 3); !sound) return sound;
  if (Result<void> sound = check_positive("stride", conv.stride, spatial_rank); !sound) return sound;
  return check_activation(conv.activation);
}

Result<void> check_pooling(const Pooling& pool, int spatial_rank) {
  if (Result<void> sound = check_positive("window", pool.window, spatial_rank); !sound) return sound;
  return check_positive("stride", pool.stride, spatial_rank);
}

Result<void> check_crop(const Crop& crop, int spatial_rank) {
  if (Result<void> sound = check_within("begin", crop.begin, 0, spatial_rank); !sound) return sound;
  return check_within("end", crop.end, 0, spatial_rank);
}

Result<void> check_border(std::string_view name, const Border& border, int spatial_rank) {
  if (Result<void> sound = check_within(std::string(name) + ".begin", border.begin, 0, spatial_rank); !sound) {
    return sound;
  }
  return check_within(std::string(name) + ".end", border.end, 0, spatial_rank);
}

// Voxels that a node leaves out of the volume count below 0.
Result<void> check_beyond(const Border& beyond, int spatial_rank) {
  if (!covers(min(beyond.begin, beyond.end), Vec3::cube(-max_reach))) return invalid("beyond is below -2^20");
  return check_border("beyond", {max(beyond.begin, {}), max(beyond.end, {})}, spatial_rank);
}

Result<void> check_epsilon(float epsilon) {
  return std::isfinite(epsilon) && epsilon > 0 ? Result<void>() : invalid("epsilon is not above 0");
}

Result<void> check_norm(const Norm& norm) {
  if (norm.groups < 1) return invalid("groups = " + std::to_string(norm.groups) + " is below 1");
  if (Result<void> sound = check_epsilon(norm.epsilon); !sound) return sound;
  return check_activation(norm.activation);
}

Result<void> check_operation(const Operation& operation, int spatial_rank) {
  return std::visit(
      Overloaded{[&](const Convolution& conv) { return check_convolution(conv, spatial_rank); },
                 [&](const Pooling& pool) { return check_pooling(pool, spatial_rank); },
                 [&](const Crop& crop) { return check_crop(crop, spatial_rank); },
                 [&](const Upsample& up) { return check_positive("factor", up.factor, spatial_rank); },
                 [](const Activate& activate) { return check_activation(activate.activation); },
                 [](const Add& sum) { return check_activation(sum.activation); },
                 [](const AcrossChannels& across) { return check_epsilon(across.epsilon); },
                 [](const Norm& norm) { return check_norm(norm); }, [](const auto&) { return Result<void>(); }},
      operation);
}

Result<void> check_inputs(const Node& node, int value) {
  const bool multiplies = std::holds_alternative<Multiply>(node.operation);
  const bool joins = std::holds_alternative<Add>(node.operation) || std::holds_alternative<Concat>(node.operation);
  const bool convolves = std::holds_alternative<Convolution>(node.operation);
  const std::size_t count = node.inputs.size();
  const bool suits = joins ? count >= 2 : multiplies ? count == 2 : count == 1 || (convolves && count == 2);
  if (!suits) {
    return invalid("has " + std::to_string(count) + " inputs; it needs " +
                   (joins        ? "2 or more"
                    : multiplies ? "2"
                    : convolves  ? "1, or 2 where a residual is added"
                                 : "1"));
  }
  for (const int input : node.inputs) {
    if (input >= 0 && input < value) continue;
    return invalid("reads value " + std::to_string(input) + "; it may read [0, " + std::to_string(value) + ")");
  }
  return {};
}

std::string value_name(const Network& network, int value) {
  return value == 0 ? network.input_name : network.nodes[index(value - 1)].name;
}

std::string reach_text(const Reach& reach) {
  return "field of view " + to_string(reach.fov) + ", stride " + to_string(reach.stride);
}

// What holds while the values are walked in order.
struct Walk {
  std::vector<Reach> reach = {Reach{}};
  std::vector<std::int64_t> images;
  std::int64_t parameters = 0;
};

// What a convolution adds to its sums must lie where they lie.
Result<void> check_residual(const Network& network, const Node& node, const Convolution& conv, const Walk& walk) {
  const int residual = node.inputs.back();
  const Reach own = reach_after(node.operation, walk.reach[index(node.inputs.front())]);
  const Reach& other = walk.reach[index(residual)];
  if (own != other) {
    return invalid("branches do not meet: its sums have " + reach_text(own) + ", " + value_name(network, residual) +
                   " has " + reach_text(other));
  }
  const std::int64_t f = walk.images[index(residual)];
  if (f == conv.f_out) return {};
  return invalid("adds " + std::to_string(f) + " images of " + value_name(network, residual) + " to " +
                 std::to_string(conv.f_out) + " of its own");
}

Result<void> check_conv_groups(const Convolution& conv, std::int64_t f) {
  if (f % conv.groups == 0 && conv.f_out % conv.groups == 0) return {};
  return invalid("groups = " + std::to_string(conv.groups) + " does not divide the " + std::to_string(f) +
                 " images of its input and the " + std::to_string(conv.f_out) + " of its own");
}

Result<void> check_join(const Network& network, const Node& node, const Walk& walk) {
  if (const auto* conv = std::get_if<Convolution>(&node.operation)) {
    const std::int64_t f = walk.images[index(node.inputs.front())];
    if (Result<void> sound = check_conv_groups(*conv, f); !sound) return sound;
    return node.inputs.size() == 1 ? Result<void>() : check_residual(network, node, *conv, walk);
  }
  const int first = node.inputs.front();
  for (const int other : node.inputs) {
    const Reach& a = walk.reach[index(first)];
    const Reach& b = walk.reach[index(other)];
    if (a != b) {
      return invalid("branches do not meet: " + value_name(network, first) + " has " + reach_text(a) + ", " +
                     value_name(network, other) + " has " + reach_text(b));
    }
    const std::int64_t f = walk.images[index(first)];
    const std::int64_t f_other = walk.images[index(other)];
    if (std::holds_alternative<Multiply>(node.operation) && f != f_other && f_other != 1) {
      return invalid("multiplies " + std::to_string(f) + " images of " + value_name(network, first) + " by " +
                     std::to_string(f_other) + " of " + value_name(network, other) + "; as many, or 1, are right");
    }
    if (std::holds_alternative<Add>(node.operation) && f != f_other) {
      return invalid("adds " + std::to_string(f) + " images of " + value_name(network, first) + " to " +
                     std::to_string(f_other) + " of " + value_name(network, other));
    }
  }
  return {};
}

// An upsampling must give back strides that nodes before it have taken, and a shuffle whole groups of channels.
Result<void> check_upsample(const Upsample& up, const Walk& walk, int input) {
  const Reach& reach = walk.reach[index(input)];
  if (reach.stride % up.factor != Vec3{}) {
    return invalid("upsamples by " + to_string(up.factor) + ", but its input has a stride of " +
                   to_string(reach.stride) + ": an output finer than the input is not supported");
  }
  const std::int64_t f = walk.images[index(input)];
  if (up.kind != UpsampleKind::shuffle || f % voxels(up.factor) == 0) return {};
  return invalid("shuffles " + std::to_string(f) + " images to " + std::to_string(voxels(up.factor)) +
                 " voxels each, which does not divide");
}

Result<void> check_groups(const Norm& norm, std::int64_t f) {
  if (f % norm.groups == 0) return {};
  return invalid("normalises " + std::to_string(f) + " images in " + std::to_string(norm.groups) +
                 " groups, which does not divide");
}

Result<void> check_limits(const Walk& walk) {
  const Reach& reach = walk.reach.back();
  if (!covers(Vec3::cube(max_reach), reach.fov) || !covers(Vec3::cube(max_stride), reach.stride)) {
    return invalid(reach_text(reach) + " is over the limits: field of view 2^20, stride 2^12");
  }
  if (walk.images.back() > max_images) {
    return invalid("writes " + std::to_string(walk.images.back()) + " images; the limit is 2^24");
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
  if (Result<void> sound = check_join(network, node, walk); !sound) return sound;
  if (const auto* up = std::get_if<Upsample>(&node.operation)) {
    if (Result<void> sound = check_upsample(*up, walk, node.inputs.front()); !sound) return sound;
  }
  const std::int64_t f = walk.images[index(node.inputs.front())];
  if (const auto* norm = std::get_if<Norm>(&node.operation)) {
    if (Result<void> sound = check_groups(*norm, f); !sound) return sound;
  }
  walk.parameters = add(walk.parameters, parameter_count(node.operation, f));
  walk.reach.push_back(reach_after(node.operation, walk.reach[index(node.inputs.front())]));
  walk.images.push_back(images_after(node, walk.images));
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

// Poolings of networks with strides of their own keep the first offset, and extents fit all strides.
Result<void> check_extents(const Network& network) {
  if (!is_strided(network)) return {};
  if (const std::vector<int> dense = pooling_nodes(network); !dense.empty()) {
    return invalid("node " + network.nodes[index(dense.front())].name +
                   " is a dense pooling in a network with strides of its own");
  }
  if (const Vec3 along = period(network); !covers(Vec3::cube(max_stride), along)) {
    return invalid("the strides come together every " + to_string(along) + " voxels; the limit is 2^12");
  }
  const Result<Vec3> least = find_least_extent(network);
  return least ? Result<void>() : least.error();
}

}  // namespace

Result<void> check(const Network& network) {
  if (network.spatial_rank < 1 || network.spatial_rank > 3) {
    return invalid("spatial rank " + std::to_string(network.spatial_rank) + " is not in [1, 3]");
  }
  if (network.f_in < 1 || network.f_in > max_images) {
    return invalid("f_in = " + std::to_string(network.f_in) + " is not in [1, 2^24]");
  }
  if (network.nodes.empty()) return invalid("the network has no nodes");
  if (Result<void> sound = check_name("the input", network.input_name); !sound) return sound;
  if (Result<void> sound = check_name("the output", network.output_name); !sound) return sound;
  if (Result<void> sound = check_inputs(network); !sound) return sound;
  if (Result<void> sound = check_names(network); !sound) return sound;
  Walk walk;
  walk.images = {network.f_in};
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    if (Result<void> sound = check_node(network, static_cast<int>(i), walk); !sound) {
      return sound.error().within("node " + network.nodes[i].name);
    }
  }
  if (Result<void> sound = check_outputs(network, walk.images.back()); !sound) return sound;
  if (Result<void> sound = check_frame(network, walk); !sound) return sound;
  if (Result<void> sound = check_extents(network); !sound) return sound;
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

std::vector<std::int64_t> images(const Network& network) {
  std::vector<std::int64_t> result = {network.f_in};
  for (const Node& node : network.nodes) result.push_back(images_after(node, result));
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
  const std::vector<std::int64_t> f = images(network);
  std::int64_t sum = 0;
  for (const Node& node : network.nodes) sum = add(sum, parameter_count(node.operation, f[index(node.inputs.front())]));
  return mul(sum, static_cast<std::int64_t>(sizeof(float)));
}

}  // namespace znni
