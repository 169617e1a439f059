#include "proto/convert/onnx/operators/onnx_shuffle.hpp"

#include <algorithm>

#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/operators/onnx_reshape.hpp"

namespace znni {
namespace {

using Integers = std::vector<std::int64_t>;

constexpr std::string_view supported_form =
    " is not supported; only to [N, channels, factors, extents], transposed so that each factor stands behind its "
    "extent, and reshaped to their products, which is a pixel shuffle";

// Returns the factors in `target`, of [N, channels, factors..., extents...]; zeros if it has none.
Vec3 factor_in(const std::vector<VolumeNumber>& target, int rank) {
  Vec3 factor = Vec3::cube(1);
  for (int i = 0; i < rank; ++i) {
    const VolumeNumber& number = target[static_cast<std::size_t>(2 + i)];
    if (!is_constant(number) || number.least < 1 || number.least > max_onnx_channels) return {};
    factor[3 - rank + i] = number.least;
  }
  return factor;
}

// Returns the extents of the value with its channels split.
TensorExtents split_extents(const OnnxBuilder& builder, int value, Vec3 factor) {
  TensorExtents extents = extents_of(builder, value);
  extents[1] = VolumeNumber{builder.channels(value) / voxels(factor), {}};
  for (int i = builder.rank(); i-- > 0;)
    extents.insert(extents.begin() + 2, VolumeNumber{factor[3 - builder.rank() + i], {}});
  return extents;
}

// Returns the extents after the shuffle.
TensorExtents shuffled_extents(const OnnxBuilder& builder, const SplitValue& split) {
  TensorExtents extents = extents_of(builder, split.value);
  extents[1] = VolumeNumber{builder.channels(split.value) / voxels(split.factor), {}};
  for (int i = 0; i < builder.rank(); ++i) {
    std::optional<VolumeNumber>& extent = extents[static_cast<std::size_t>(2 + i)];
    if (extent) extent = product(*extent, VolumeNumber{split.factor[3 - builder.rank() + i], {}});
  }
  return extents;
}

// Returns the kernels that put channel j * parts + p to p * f_out + j, which is where the shuffle reads part p.
std::vector<float> reordering(std::int64_t f, std::int64_t parts) {
  const std::int64_t f_out = f / parts;
  std::vector<float> kernels(static_cast<std::size_t>(f * f), 0.0F);
  for (std::int64_t to = 0; to < f; ++to) {
    const std::int64_t from = to % f_out * parts + to / f_out;
    kernels[static_cast<std::size_t>(to * f + from)] = 1.0F;
  }
  return kernels;
}

// Appends the shuffle. `parts_first`: channels come part by part, in the order in which the shuffle reads them.
Result<void> append_shuffle(const OnnxNode& node, OnnxBuilder& builder, int value, Vec3 factor, bool parts_first) {
  const std::int64_t f = builder.channels(value);
  const std::int64_t parts = voxels(factor);
  if (!parts_first && parts > 1 && f > parts) {
    if (mul(f, f) > builder.room()) {
      return unsupported("shuffles " + std::to_string(f) + " channels by " + std::to_string(mul(f, f)) +
                         " parameters, which is more than is plausible for a file of this size");
    }
    NodeWeights weights;
    weights.kernels = reordering(f, parts);
    value =
        builder.append_part(node.proto, Convolution{f, Vec3::cube(1), Vec3::cube(1), {}}, value, f, std::move(weights));
  }
  if (parts > 1) value = builder.append_part(node.proto, Upsample{factor, UpsampleKind::shuffle}, value, f / parts);
  builder.alias(node.proto, value);
  return {};
}

}  // namespace

Result<void> split_channels(const OnnxNode& node, OnnxBuilder& builder, int value,
                            const std::vector<VolumeNumber>& target) {
  const Vec3 factor = factor_in(target, builder.rank());
  const TensorExtents asked(target.begin(), target.end());
  const bool divides = factor != Vec3{} && builder.channels(value) % voxels(factor) == 0;
  if (!divides || !asks_for(target, split_extents(builder, value, factor))) {
    return unsupported("of " + text_of(extents_of(builder, value)) + " to " + text_of(asked) +
                       std::string(supported_form));
  }
  builder.split(node.proto, {value, factor, false});
  return {};
}

Result<void> interleave(const OnnxNode& node, OnnxBuilder& builder, const SplitValue& split) {
  const Result<Integers> perm = node.attributes.integers("perm");
  if (!perm) return perm.error();
  Integers right = {0, 1};
  for (std::int64_t i = 0; i < builder.rank(); ++i) right.insert(right.end(), {2 + builder.rank() + i, 2 + i});
  if (split.interleaved || *perm != right) {
    return unsupported("of voxels of channels in this order" + std::string(supported_form));
  }
  builder.split(node.proto, {split.value, split.factor, true});
  return {};
}

Result<void> join_voxels(const OnnxNode& node, OnnxBuilder& builder, const SplitValue& split) {
  const TensorExtents extents = shuffled_extents(builder, split);
  const Result<std::vector<VolumeNumber>> target = target_of(node, builder, {});
  if (!target) return target.error();
  if (!split.interleaved || !asks_for(*target, extents)) {
    return unsupported("of voxels of channels to " + text_of(TensorExtents(target->begin(), target->end())) +
                       std::string(supported_form));
  }
  return append_shuffle(node, builder, split.value, split.factor, false);
}

Result<void> convert_depth_to_space(const OnnxNode& node, OnnxBuilder& builder) {
  const Result<int> value = builder.value(node.proto, 0);
  if (!value) return value.error();
  const Result<std::int64_t> size = node.attributes.integer("blocksize", 0);
  if (!size) return size.error();
  const Result<std::string> mode = node.attributes.text("mode", "DCR");
  if (!mode) return mode.error();
  if (builder.guess_reader(node.proto)) return {};
  const bool sound =
      builder.rank() == 2 && *size > 0 && *size <= max_onnx_channels && (*mode == "DCR" || *mode == "CRD");
  if (!sound || builder.channels(*value) % mul(*size, *size) != 0) {
    return corrupt("blocksize = " + std::to_string(*size) + " and mode = " + in_quotes(*mode) + " for " +
                   std::to_string(builder.channels(*value)) +
                   " channels; DCR or CRD of two spatial axes, and a square that divides the channels, are right");
  }
  return append_shuffle(node, builder, *value, {1, *size, *size}, *mode == "DCR");
}

}  // namespace znni
