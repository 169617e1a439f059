#include "proto/convert/onnx/operators/onnx_turned.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/operators/onnx_shuffle.hpp"

namespace znni {
namespace {

using Axes = std::vector<int>;
using Integers = std::vector<std::int64_t>;
using Numbers = std::vector<VolumeNumber>;

constexpr int one_element = -1;
constexpr std::size_t max_axes = 12;
constexpr std::int64_t opset_of_axes_input = 13;  // older sets have an attribute

std::size_t index_of(std::int64_t axis) { return static_cast<std::size_t>(axis); }

// Returns the axes with that of a single channel as one of one element, wherever it stands.
Axes without_single_channel(const OnnxBuilder& builder, const TurnedValue& turned) {
  Axes axes = turned.axes;
  if (builder.channels(turned.value) == 1) std::replace(axes.begin(), axes.end(), 1, one_element);
  return axes;
}

bool are_alike(const OnnxBuilder& builder, const TurnedValue& turned, Axes wanted) {
  return without_single_channel(builder, turned) == without_single_channel(builder, {turned.value, std::move(wanted)});
}

// Returns `axes` in the order `perm`, which must hold each of their indices once.
Result<Axes> permuted(const Axes& axes, const Integers& perm) {
  Axes result;
  std::vector<bool> taken(axes.size(), false);
  for (const std::int64_t from : perm) {
    const bool legal = from >= 0 && from < static_cast<std::int64_t>(axes.size());
    if (!legal) return corrupt("perm holds " + std::to_string(from) + ", which is no axis");
    if (taken[index_of(from)]) return corrupt("perm does not hold each axis once");
    taken[index_of(from)] = true;
    result.push_back(axes[index_of(from)]);
  }
  return result;
}

// Returns the axes that a Squeeze or Unsqueeze names.
Result<Integers> named_axes(const OnnxNode& node, const OnnxBuilder& builder) {
  if (builder.opset() < opset_of_axes_input) return node.attributes.integers("axes");
  if (!OnnxBuilder::has_input(node.proto, 1)) return Integers();
  const onnx::TensorProto* tensor = builder.constant(node.proto, 1);
  if (tensor == nullptr) return unsupported("its axes are computed; only constants are supported");
  return integers_of(*tensor);
}

// Returns the axes, of a tensor that has `count`, in rising order.
Result<Integers> placed(Integers axes, std::int64_t count) {
  for (std::int64_t& axis : axes) {
    const std::int64_t place = axis < 0 ? axis + count : axis;
    if (place < 0 || place >= count) {
      return corrupt("names axis " + std::to_string(axis) + " of a tensor with " + std::to_string(count) + " axes");
    }
    axis = place;
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) return corrupt("names an axis twice");
  return axes;
}

// Changes the tensor at input 0 by change(tensor, axes that the node names), and keeps it.
template <class Change>
Result<void> with_axes(const OnnxNode& node, OnnxBuilder& builder, const Change& change) {
  Result<TurnedValue> turned = turned_at(node, builder);
  if (!turned) return turned.error();
  if (builder.is_guessed(turned->value)) {
    builder.guess(node.proto);
    return {};
  }
  Result<Integers> axes = named_axes(node, builder);
  if (!axes) return axes.error();
  if (axes->empty()) return unsupported("names no axes, which is not supported");
  if (Result<void> changed = change(*turned, *std::move(axes)); !changed) return changed;
  keep_turned(node, builder, *std::move(turned));
  return {};
}

// Finds which axes of a tensor make those that a Reshape asks for.
class Regrouping {
 public:
  Regrouping(Axes from, TensorExtents extents, const Numbers& target)
      : from_(std::move(from)), extents_(std::move(extents)), target_(target) {}

  // Returns whether there is a way; then axes() and factor() tell it.
  bool run() { return place(0, 0); }
  [[nodiscard]] const Axes& axes() const { return axes_; }
  [[nodiscard]] Vec3 factor(int rank) const {
    Vec3 factor = Vec3::cube(1);
    for (const auto& [axis, copies] : copied_) {
      std::int64_t& along = factor[axis + 1 - rank];
      along = mul(along, copies);
    }
    return factor;
  }

 private:
  // Makes the axes `to` and later ones of the target of those `at` and later ones of the tensor.
  bool place(std::size_t at, std::size_t to) {
    at = behind_elements(at);
    if (to == target_.size()) return at == from_.size();
    return take_axis(at, to) || take_element(at, to);
  }

  // Takes the next axis, with the copies behind it as far as the target asks for them.
  bool take_axis(std::size_t at, std::size_t to) {
    if (at == from_.size() || from_[at] < 0) return false;
    const std::size_t known = copied_.size();
    std::optional<VolumeNumber> extent = extents_[at];
    for (std::size_t next = behind_elements(at + 1);; next = behind_elements(next + 1)) {
      if (asks_for(to, at, next, copied_.size() > known, extent)) {
        axes_.push_back(from_[at]);
        if (place(next, to + 1)) return true;
        axes_.pop_back();
      }
      if (!has_copies(next) || from_[at] < 2) break;
      copied_.emplace_back(from_[at], -from_[next]);
      if (extent) extent = product(*extent, VolumeNumber{-from_[next], {}});
    }
    copied_.resize(known);
    return false;
  }

  // Returns whether axis `to` of the target is axis `at` of the tensor, or this extent of it with copies; `next`
  // follows.
  [[nodiscard]] bool asks_for(std::size_t to, std::size_t at, std::size_t next, bool with_copies,
                              const std::optional<VolumeNumber>& extent) const {
    const VolumeNumber& asked = target_[to];
    if (asked == VolumeNumber{-1, {}}) return !has_copies(next);
    if (asked == VolumeNumber{}) return at == to && !with_copies;  // as in the tensor, whose extent is not known
    return extent && asked == *extent;
  }

  bool take_element(std::size_t at, std::size_t to) {
    if (target_[to] != VolumeNumber{1, {}}) return false;
    axes_.push_back(one_element);
    if (place(at, to + 1)) return true;
    axes_.pop_back();
    return false;
  }

  [[nodiscard]] bool has_copies(std::size_t at) const { return at < from_.size() && from_[at] < 0; }
  [[nodiscard]] std::size_t behind_elements(std::size_t at) const {
    while (at < from_.size() && from_[at] == one_element) ++at;
    return at;
  }

  Axes from_;
  TensorExtents extents_;
  const Numbers& target_;
  Axes axes_;
  std::vector<std::pair<int, int>> copied_;  // axis of the value, copies of each of its voxels
};

}  // namespace

std::vector<int> axes_in_order(int rank) {
  Axes axes(index_of(rank) + 2);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Result<TurnedValue> turned_at(const OnnxNode& node, const OnnxBuilder& builder) {
  if (OnnxBuilder::has_input(node.proto, 0)) {
    if (const TurnedValue* turned = builder.turned(node.proto.input(0))) return *turned;
  }
  const Result<int> value = builder.value(node.proto, 0);
  return value ? Result<TurnedValue>(TurnedValue{*value, axes_in_order(builder.rank())}) : value.error();
}

TensorExtents extents_of(const OnnxBuilder& builder, const TurnedValue& turned) {
  const TensorExtents own = extents_of(builder, turned.value);
  TensorExtents extents;
  for (const int axis : turned.axes) {
    extents.push_back(axis < 0 ? VolumeNumber{-axis, {}} : own[index_of(axis)]);
  }
  return extents;
}

void keep_turned(const OnnxNode& node, OnnxBuilder& builder, TurnedValue turned) {
  const bool is_in_order = are_alike(builder, turned, axes_in_order(builder.rank()));
  if (is_in_order || builder.is_guessed(turned.value)) {
    builder.alias(node.proto, turned.value);
  } else {
    builder.turn(node.proto, std::move(turned));
  }
}

bool is_channels_last(const OnnxBuilder& builder, const TurnedValue& turned) {
  Axes axes = axes_in_order(builder.rank());
  std::rotate(axes.begin() + 1, axes.begin() + 2, axes.end());
  return are_alike(builder, turned, std::move(axes));
}

bool is_without_channel(const OnnxBuilder& builder, const TurnedValue& turned) {
  Axes axes = axes_in_order(builder.rank());
  axes.erase(axes.begin() + 1);
  return builder.channels(turned.value) == 1 && turned.axes == axes;
}

Result<void> convert_transpose(const OnnxNode& node, OnnxBuilder& builder) {
  if (const SplitValue* split = builder.split(node.proto.input(0))) return interleave(node, builder, *split);
  Result<TurnedValue> input = turned_at(node, builder);
  if (!input) return input.error();
  const Result<Integers> perm = node.attributes.integers("perm");
  if (!perm) return perm.error();
  if (perm->size() != input->axes.size()) {
    return unsupported("perm has " + std::to_string(perm->size()) + " axes; " + std::to_string(input->axes.size()) +
                       " are right");
  }
  Result<Axes> axes = permuted(input->axes, *perm);
  if (!axes) return axes.error();
  keep_turned(node, builder, {input->value, *std::move(axes)});
  return {};
}

Result<void> convert_unsqueeze(const OnnxNode& node, OnnxBuilder& builder) {
  return with_axes(node, builder, [](TurnedValue& turned, Integers axes) -> Result<void> {
    const std::size_t count = turned.axes.size() + axes.size();
    if (count > max_axes) return unsupported("makes " + std::to_string(count) + " axes");
    const Result<Integers> places = placed(std::move(axes), static_cast<std::int64_t>(count));
    if (!places) return places.error();
    for (const std::int64_t axis : *places) turned.axes.insert(turned.axes.begin() + axis, one_element);
    return {};
  });
}

Result<void> convert_squeeze(const OnnxNode& node, OnnxBuilder& builder) {
  return with_axes(node, builder, [&builder](TurnedValue& turned, Integers axes) -> Result<void> {
    const Result<Integers> places = placed(std::move(axes), std::ssize(turned.axes));
    if (!places) return places.error();
    const Axes found = without_single_channel(builder, turned);
    for (std::size_t i = places->size(); i-- > 0;) {
      const std::int64_t axis = (*places)[i];
      if (found[index_of(axis)] != one_element) {
        return unsupported("axis " + std::to_string(axis) +
                           " is not one that Unsqueeze has added, nor a single channel");
      }
      turned.axes.erase(turned.axes.begin() + axis);
    }
    return {};
  });
}

Result<void> tile_turned(const OnnxNode& node, OnnxBuilder& builder, const TurnedValue& turned) {
  const std::optional<KnownTensor> tensor = builder.known_at(node.proto, 1);
  if (!tensor) return unsupported("its repeats are computed of something else than constants and shapes");
  const Result<Numbers> repeats = numbers_of(*tensor);
  if (!repeats) return repeats.error();
  if (repeats->size() != turned.axes.size()) {
    return corrupt("has " + std::to_string(repeats->size()) + " repeats; " + std::to_string(turned.axes.size()) +
                   " are right");
  }
  TurnedValue copied = turned;
  for (std::size_t axis = 0; axis < repeats->size(); ++axis) {
    const VolumeNumber& times = (*repeats)[axis];
    if (times == VolumeNumber{1, {}}) continue;
    const bool can_copy = turned.axes[axis] == one_element && is_constant(times) && times.least > 0;
    if (!can_copy || times.least > max_copies) {
      return unsupported("repeats axis " + std::to_string(axis) + " " + to_string(times) + " times; only axes that " +
                         "Unsqueeze has added can be, up to " + std::to_string(max_copies) + " times");
    }
    copied.axes[axis] = -static_cast<int>(times.least);
  }
  builder.turn(node.proto, std::move(copied));
  return {};
}

Result<bool> reshape_turned(const OnnxNode& node, OnnxBuilder& builder, const TurnedValue& turned) {
  const TensorExtents extents = extents_of(builder, turned);
  const Result<Numbers> target = target_of(node, builder, extents);
  if (!target) return target.error();
  const Result<std::int64_t> allows_zero = node.attributes.integer("allowzero", 0);
  if (!allows_zero) return allows_zero.error();
  const bool is_empty = *allows_zero != 0 && std::find(target->begin(), target->end(), VolumeNumber{}) != target->end();
  if (target->size() > max_axes || is_empty) return false;
  if (znni::asks_for(*target, extents)) {
    keep_turned(node, builder, turned);
    return true;
  }
  Regrouping regrouping(without_single_channel(builder, turned), extents, *target);
  if (!regrouping.run()) return false;
  TurnedValue made{turned.value, regrouping.axes()};
  const Vec3 factor = regrouping.factor(builder.rank());
  if (!covers(Vec3::cube(max_copies), factor)) {
    return unsupported("repeats voxels " + to_string(factor) + " times; up to " + std::to_string(max_copies) +
                       " times along an axis is supported");
  }
  if (factor != Vec3::cube(1)) {
    made.value = builder.append_part(node.proto, Upsample{factor, UpsampleKind::nearest}, made.value,
                                     builder.channels(made.value));
  }
  keep_turned(node, builder, std::move(made));
  return true;
}

}  // namespace znni
