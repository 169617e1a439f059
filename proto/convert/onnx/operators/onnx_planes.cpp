#include "proto/convert/onnx/operators/onnx_planes.hpp"

#include <algorithm>

#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/operators/onnx_channels.hpp"
#include "proto/convert/onnx/operators/onnx_turned.hpp"

namespace znni {
namespace {

bool are_of_one(const PlaneOfValue& a, const PlaneOfValue& b) {
  return a.of.value == b.of.value && a.of.axes == b.of.axes && a.axis == b.axis;
}

Error other_planes() {
  return unsupported("of voxels along an axis is supported only of all of them in order, each as often as the others");
}

// Returns how often each plane stands in the Concat.
Result<std::int64_t> copies_in(const OnnxNode& node, const OnnxBuilder& builder, const PlaneOfValue& first) {
  const std::int64_t inputs = node.proto.input_size();
  const std::int64_t copies = inputs / first.count;
  if (inputs % first.count != 0 || copies > max_copies) return other_planes();
  for (std::int64_t i = 0; i < inputs; ++i) {
    const PlaneOfValue* plane = builder.plane(node.proto.input(static_cast<int>(i)));
    if (plane == nullptr || !are_of_one(*plane, first) || plane->index != i / copies) return other_planes();
  }
  return copies;
}

}  // namespace

Result<void> split_planes(const OnnxNode& node, OnnxBuilder& builder, const TurnedValue& turned, int axis) {
  const std::optional<VolumeNumber> extent = extents_of(builder, turned)[static_cast<std::size_t>(axis)];
  if (!extent || !is_constant(*extent)) {
    return unsupported(
        "splits an axis whose extent the file leaves open, which is not supported: export it with fixed "
        "extents");
  }
  const Result<std::vector<std::int64_t>> sizes = sizes_of_split(node, builder, extent->least);
  if (!sizes) return sizes.error();
  if (std::any_of(sizes->begin(), sizes->end(), [](std::int64_t size) { return size != 1; })) {
    return unsupported(
        "splits space into parts of several voxels, which is not supported; only channels, or single "
        "voxels that a Concat joins again");
  }
  for (int i = 0; i < node.proto.output_size(); ++i) {
    builder.name_plane(node.proto.output(i), {turned, axis, i, extent->least});
  }
  return {};
}

Result<void> join_planes(const OnnxNode& node, OnnxBuilder& builder, std::int64_t axis) {
  const PlaneOfValue* found = builder.plane(node.proto.input(0));
  if (found == nullptr) return other_planes();
  const PlaneOfValue first = *found;
  const Result<std::int64_t> copies = copies_in(node, builder, first);
  if (!copies) return copies.error();
  const std::int64_t place = axis < 0 ? axis + std::ssize(first.of.axes) : axis;
  if (place != first.axis) return other_planes();
  TurnedValue joined = first.of;
  if (*copies > 1) {
    Vec3 factor = Vec3::cube(1);
    factor[first.of.axes[static_cast<std::size_t>(first.axis)] + 1 - builder.rank()] = *copies;
    joined.value = builder.append_part(node.proto, Upsample{factor, UpsampleKind::nearest}, joined.value,
                                       builder.channels(joined.value));
  }
  keep_turned(node, builder, std::move(joined));
  return {};
}

}  // namespace znni
