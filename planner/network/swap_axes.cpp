#include "planner/network/swap_axes.hpp"

#include <algorithm>
#include <variant>

#include "planner/network/network_weights.hpp"
#include "planner/network/operations/all.hpp"

namespace znni {

std::string_view axis_name(int axis) { return std::string_view("zyx").substr(static_cast<std::size_t>(axis), 1); }

namespace {

Border swapped_border(const Border& border, int axis) {
  return {swap_axes(border.begin, axis), swap_axes(border.end, axis)};
}

void swap_axes(Operation& operation, int axis) {
  std::visit([&]<class Own>(Own& own) { OperationRules<Own>::swap_own_axes(own, axis); }, operation);
}

}  // namespace

Network swap_axes(Network network, int axis) {
  network.frame = swapped_border(network.frame, axis);
  network.output_stride = swap_axes(network.output_stride, axis);
  network.min_volume = swap_axes(network.min_volume, axis);
  for (NamedTensor& output : network.outputs) output.stride = swap_axes(output.stride, axis);
  for (Node& node : network.nodes) {
    node.outside = swapped_border(node.outside, axis);
    node.beyond = swapped_border(node.beyond, axis);
    swap_axes(node.operation, axis);
  }
  return network;
}

bool can_swap_axes(const Network& network) {
  return std::none_of(network.nodes.begin(), network.nodes.end(), [](const Node& node) {
    const auto* up = std::get_if<Upsample>(&node.operation);
    const bool shuffles = up != nullptr && up->kind == UpsampleKind::shuffle;
    return shuffles || std::holds_alternative<AddVolume>(node.operation);
  });
}

std::int64_t kernel_bytes(const Network& network) {
  const std::vector<std::int64_t> f = channels_of(network);
  std::int64_t floats = 0;
  for (const Node& node : network.nodes) {
    const std::int64_t f_in = f[static_cast<std::size_t>(node.inputs.front())];
    floats = add(floats, weight_sizes(node.operation, f_in).kernels);
  }
  return mul(floats, element_bytes(ElementType::f32));
}

void swap_kernel_axes(std::span<const float> from, Vec3 k, int axis, std::span<float> to) {
  ensure(from.size() == to.size(), "kernels keep their size");
  const Vec3 turned = swap_axes(k, axis);
  const std::size_t taps = static_cast<std::size_t>(voxels(k));
  for (std::size_t kernel = 0; kernel < from.size(); kernel += taps) {
    for (std::size_t i = 0; i < taps; ++i) {
      const auto index = static_cast<std::int64_t>(i);
      const Vec3 at = swap_axes({index / (k.y * k.x), index / k.x % k.y, index % k.x}, axis);
      to[kernel + static_cast<std::size_t>((at.z * turned.y + at.y) * turned.x + at.x)] = from[kernel + i];
    }
  }
}

}  // namespace znni
