#include "proto/convert/onnx/operators/onnx_reshape.hpp"

#include <algorithm>
#include <optional>

#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/operators/onnx_flatten.hpp"
#include "proto/convert/onnx/operators/onnx_shuffle.hpp"
#include "proto/convert/onnx/operators/onnx_turned.hpp"

namespace znni {
namespace {

using Extents = TensorExtents;
using VolumeNumbers = std::vector<VolumeNumber>;

constexpr std::size_t axes_of_flat = 2;
constexpr std::size_t axes_of_groups = 3;
constexpr std::string_view supported_form =
    " is not supported; only to [N, groups, -1] before an InstanceNormalization, which is how GroupNorm is exported, "
    "and back";

// Returns whether the file leaves the extent to follow from the others.
bool is_open(const VolumeNumber& extent) { return extent == VolumeNumber{-1, {}}; }

std::string text_of(const VolumeNumbers& target) { return text_of(Extents(target.begin(), target.end())); }

// Returns the extents of a tensor of these extents with its channels in groups: [N, groups, the rest].
Extents grouped(const Extents& extents, std::int64_t groups) {
  std::optional<VolumeNumber> rest = VolumeNumber{extents[1]->least / groups, {}};
  for (std::size_t axis = 2; axis < extents.size(); ++axis) {
    rest = rest && extents[axis] ? product(*rest, *extents[axis]) : std::nullopt;
  }
  return {extents[0], VolumeNumber{groups, {}}, rest};
}

Result<void> make_groups(const OnnxNode& node, OnnxBuilder& builder, int value) {
  const Extents from = extents_of(builder, value);
  const Result<VolumeNumbers> target = target_of(node, builder, from);
  if (!target) return target.error();
  if (static_cast<int>(target->size()) == 2 + 2 * builder.rank()) return split_channels(node, builder, value, *target);
  const bool has_groups = target->size() == axes_of_groups && is_constant((*target)[1]) && (*target)[1].least > 0;
  if (!has_groups) return unsupported("to " + text_of(*target) + std::string(supported_form));
  const std::int64_t groups = (*target)[1].least;
  if (builder.channels(value) % groups != 0) {
    return unsupported("to " + text_of(*target) + " makes " + std::to_string(groups) + " groups of " +
                       std::to_string(builder.channels(value)) +
                       " channels, which does not divide; a divisor is right");
  }
  if (!asks_for(*target, grouped(from, groups))) {
    return unsupported("of " + text_of(from) + " to " + text_of(*target) + std::string(supported_form));
  }
  builder.group(node.proto, {value, groups});
  return {};
}

Result<void> undo_groups(const OnnxNode& node, OnnxBuilder& builder, const GroupedValue& from) {
  const Extents before = extents_of(builder, from.value);
  const Result<VolumeNumbers> target = target_of(node, builder, grouped(before, from.groups));
  if (!target) return target.error();
  if (asks_for(*target, before)) {
    builder.alias(node.proto, from.value);
    return {};
  }
  const bool is_known = std::all_of(before.begin(), before.end(), [](const auto& extent) { return extent; });
  return unsupported("of groups to " + text_of(*target) + " is not supported; only back to " + text_of(before) +
                     ", the extents before the groups" +
                     (is_known ? "" : "; the file leaves them open: export with static axes"));
}

}  // namespace

std::string text_of(const TensorExtents& extents) {
  constexpr std::size_t max_axes = 8;
  if (extents.size() > max_axes) return std::to_string(extents.size()) + " axes";
  std::string text;
  for (const std::optional<VolumeNumber>& extent : extents) {
    const bool known = extent && is_constant(*extent);
    text.append(text.empty() ? "" : ", ").append(known ? std::to_string(extent->least) : "n");
  }
  return "[" + text + "]";
}

TensorExtents extents_of(const OnnxBuilder& builder, int value) {
  TensorExtents extents = {VolumeNumber{builder.batch(), {}}, VolumeNumber{builder.channels(value), {}}};
  for (int axis = 3 - builder.rank(); axis < 3; ++axis) {
    extents.push_back(extent_along(builder.extents(value), axis));
  }
  return extents;
}

Result<std::vector<VolumeNumber>> target_of(const OnnxNode& node, const OnnxBuilder& builder,
                                            const TensorExtents& from) {
  if (!OnnxBuilder::has_input(node.proto, 1)) return corrupt("input 1 is missing");
  const std::optional<KnownTensor> tensor = builder.known_at(node.proto, 1);
  if (!tensor) {
    return unsupported("its shape " + in_quotes(node.proto.input(1)) +
                       " is computed of something else than constants and shapes, which is not supported");
  }
  Result<VolumeNumbers> target = numbers_of(*tensor);
  if (!target) return target.error().within("its shape " + in_quotes(node.proto.input(1)));
  const Result<std::int64_t> allows_zero = node.attributes.integer("allowzero", 0);
  if (!allows_zero) return allows_zero.error();
  for (std::size_t axis = 0; axis < std::min(target->size(), from.size()); ++axis) {
    const bool copies = *allows_zero == 0 && (*target)[axis] == VolumeNumber{};
    if (copies && from[axis]) (*target)[axis] = *from[axis];
  }
  if (std::count_if(target->begin(), target->end(), is_open) > 1) return corrupt("leaves two extents open");
  return target;
}

bool asks_for(const std::vector<VolumeNumber>& target, const TensorExtents& extents) {
  return std::equal(target.begin(), target.end(), extents.begin(), extents.end(),
                    [](const VolumeNumber& asked, const auto& extent) { return is_open(asked) || extent == asked; });
}

Result<void> convert_reshape(const OnnxNode& node, OnnxBuilder& builder) {
  if (builder.guess_reader(node.proto)) return {};
  if (const GroupedValue* grouped = builder.grouped(node.proto.input(0))) return undo_groups(node, builder, *grouped);
  if (const SplitValue* split = builder.split(node.proto.input(0))) return join_voxels(node, builder, *split);
  const Result<TurnedValue> turned = turned_at(node, builder);
  if (!turned) return turned.error();
  if (builder.is_guessed(turned->value)) {
    builder.guess(node.proto);
    return {};
  }
  const Result<VolumeNumbers> target = target_of(node, builder, extents_of(builder, *turned));
  if (!target) return target.error();
  const bool is_in_order = turned->axes == axes_in_order(builder.rank());
  if (is_in_order && builder.rank() > 1 && target->size() == axes_of_groups) {
    return make_groups(node, builder, turned->value);
  }
  const Result<bool> moved = reshape_turned(node, builder, *turned);
  if (!moved) return moved.error();
  if (*moved) return {};
  if (target->size() == axes_of_flat) return flatten_to(node, builder, *turned, *target);
  if (is_in_order) return make_groups(node, builder, turned->value);
  return unsupported(
      "of transposed axes is not supported; only to other places of axes of one element, or joining "
      "copies of voxels with their axis");
}

}  // namespace znni
