#include "proto/convert/onnx/tokens/onnx_laid_axes.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/operators/onnx_channels.hpp"
#include "proto/convert/onnx/tokens/onnx_laid.hpp"

namespace znni {
namespace {

using Integers = std::vector<std::int64_t>;

constexpr std::size_t max_axes = 12;

std::string text_of(const Integers& extents) {
  std::string text;
  for (const std::int64_t extent : extents) text.append(text.empty() ? "" : ", ").append(std::to_string(extent));
  return "[" + text + "]";
}

// Returns whole numbers that do not depend on the volume; nothing if the input has others.
std::optional<Integers> whole_at(const OnnxNode& node, const OnnxBuilder& builder, int index) {
  const std::optional<KnownTensor> tensor = builder.known_at(node.proto, index);
  if (!tensor) return std::nullopt;
  const Result<std::vector<VolumeNumber>> numbers = numbers_of(*tensor);
  if (!numbers || !std::all_of(numbers->begin(), numbers->end(), is_constant)) return std::nullopt;
  Integers whole;
  for (const VolumeNumber& number : *numbers) whole.push_back(number.least);
  return whole;
}

// Returns the axes of the attribute; none if there is no sound one.
Integers attribute_of(const OnnxNode& node) {
  const Result<Integers> axes = node.attributes.integers("axes");
  return axes ? *axes : Integers();
}

// Returns the axes of an attribute, or of input 1 in later operator sets, in rising order, of a tensor of `count` axes.
Result<std::set<std::size_t>> places_at(const OnnxNode& node, const OnnxBuilder& builder, std::size_t count) {
  Result<Integers> axes = node.attributes.integers("axes");
  if (OnnxBuilder::has_input(node.proto, 1)) {
    std::optional<Integers> whole = whole_at(node, builder, 1);
    if (!whole) return unsupported("its axes are computed, which is not supported");
    axes = *std::move(whole);
  }
  if (!axes) return axes.error();
  std::set<std::size_t> places;
  for (const std::int64_t axis : *axes) {
    const Result<std::size_t> place = place_of_axis(axis, count);
    if (!place) return place.error();
    if (!places.insert(*place).second) return corrupt("names an axis twice");
  }
  return places.empty() ? unsupported("names no axes, which is not supported") : Result<std::set<std::size_t>>(places);
}

// Returns the extents that a Reshape asks for.
Result<Integers> target_of(const OnnxNode& node, const OnnxBuilder& builder, const Integers& from) {
  std::optional<Integers> target = whole_at(node, builder, 1);
  if (!target) return unsupported("its shape is computed of something else than constants and shapes");
  const Result<std::int64_t> allows_zero = node.attributes.integer("allowzero", 0);
  if (!allows_zero) return allows_zero.error();
  std::int64_t all = 1;
  for (const std::int64_t extent : from) all = mul(all, extent);
  std::int64_t known = 1;
  std::int64_t* open = nullptr;
  for (std::size_t axis = 0; axis < target->size(); ++axis) {
    std::int64_t& extent = (*target)[axis];
    if (extent == 0 && *allows_zero == 0 && axis < from.size()) extent = from[axis];
    if (extent == -1 && open == nullptr) {
      open = &extent;
    } else if (extent < 1) {
      return corrupt("to " + text_of(*target) + " is no shape");
    } else {
      known = mul(known, extent);
    }
  }
  if (open != nullptr && all % known == 0) *open = all / known;
  if (target->size() <= max_axes && (open != nullptr ? all % known == 0 : known == all)) return *target;
  return corrupt("of " + text_of(from) + " to " + text_of(*target) + " does not keep the number of elements");
}

// Keeps what `change(layout)` makes of input 0.
template <class Change>
Result<void> with_layout(const OnnxNode& node, OnnxBuilder& builder, const Change& change) {
  const Result<AxisLayout> layout = layout_at(node, builder, 0);
  if (!layout) return layout.error();
  Result<AxisLayout> changed = change(*layout);
  if (!changed) return changed.error();
  keep_layout(node.proto.output(0), builder, *std::move(changed));
  return {};
}

Error not_cut(std::int64_t axis) {
  return unsupported("takes a part along axis " + std::to_string(axis) + " that is not one of channels");
}

Result<void> transpose_scores(const OnnxNode& node, OnnxBuilder& builder, TokenScores scores) {
  const Result<Integers> perm = node.attributes.integers("perm");
  if (!perm) return perm.error();
  const std::size_t axes = scores.queries.axes.size();
  bool swaps_last = perm->size() == axes;
  for (std::size_t i = 0; swaps_last && i < axes; ++i) {
    const std::size_t wanted = i + 2 < axes ? i : 2 * axes - 3 - i;
    swaps_last = (*perm)[i] == static_cast<std::int64_t>(wanted);
  }
  if (!swaps_last) return unsupported("of scores of attention is not supported; only of their last two axes");
  scores.is_turned = !scores.is_turned;
  builder.tokens().note(node.proto.output(0), std::move(scores));
  return {};
}

}  // namespace

Result<void> reshape_laid(const OnnxNode& node, OnnxBuilder& builder) {
  return with_layout(node, builder, [&](const AxisLayout& layout) -> Result<AxisLayout> {
    const Integers from = extents_of(layout);
    const Result<Integers> target = target_of(node, builder, from);
    if (!target) return target.error();
    std::optional<AxisLayout> made = regrouped(layout, *target);
    if (made) return *std::move(made);
    return unsupported("of " + text_of(from) + " to " + text_of(*target) +
                       " is not supported, because it cuts channels and voxels in another order");
  });
}

Result<void> transpose_laid(const OnnxNode& node, OnnxBuilder& builder) {
  if (const TokenScores* scores = builder.tokens().scores(node.proto.input(0))) {
    return transpose_scores(node, builder, *scores);
  }
  return with_layout(node, builder, [&](const AxisLayout& layout) -> Result<AxisLayout> {
    const Result<Integers> perm = node.attributes.integers("perm");
    if (!perm) return perm.error();
    std::set<std::size_t> taken;
    std::vector<std::size_t> order;
    for (const std::int64_t axis : *perm) {
      const Result<std::size_t> place = place_of_axis(axis, layout.axes.size());
      if (!place) return place.error();
      taken.insert(*place);
      order.push_back(*place);
    }
    if (taken.size() == layout.axes.size() && order.size() == taken.size()) return permuted(layout, order);
    return corrupt("perm does not hold each axis once");
  });
}

Result<void> squeeze_laid(const OnnxNode& node, OnnxBuilder& builder) {
  return with_layout(node, builder, [&](AxisLayout layout) -> Result<AxisLayout> {
    const Result<std::set<std::size_t>> places = places_at(node, builder, layout.axes.size());
    if (!places) return places.error();
    for (auto place = places->rbegin(); place != places->rend(); ++place) {
      if (!layout.axes[*place].empty()) return corrupt("takes away an axis of several elements");
      layout.axes.erase(layout.axes.begin() + static_cast<std::ptrdiff_t>(*place));
    }
    return layout;
  });
}

Result<void> unsqueeze_laid(const OnnxNode& node, OnnxBuilder& builder) {
  return with_layout(node, builder, [&](AxisLayout layout) -> Result<AxisLayout> {
    const std::size_t named = OnnxBuilder::has_input(node.proto, 1)
                                  ? whole_at(node, builder, 1).value_or(Integers()).size()
                                  : attribute_of(node).size();
    if (layout.axes.size() + named > max_axes) return unsupported("makes too many axes");
    const Result<std::set<std::size_t>> places = places_at(node, builder, layout.axes.size() + named);
    if (!places) return places.error();
    for (const std::size_t place : *places) {
      layout.axes.insert(layout.axes.begin() + static_cast<std::ptrdiff_t>(place), LayoutAxis());
    }
    return layout;
  });
}

Result<void> split_laid(const OnnxNode& node, OnnxBuilder& builder) {
  const Result<AxisLayout> layout = layout_at(node, builder, 0);
  if (!layout) return layout.error();
  const Result<std::int64_t> axis = node.attributes.integer("axis", 0);
  if (!axis) return axis.error();
  const Result<std::size_t> place = place_of_axis(*axis, layout->axes.size());
  if (!place) return place.error();
  const Result<Integers> sizes = sizes_of_split(node, builder, extent_of(layout->axes[*place]));
  if (!sizes) return sizes.error();
  std::int64_t first = 0;
  for (int i = 0; i < node.proto.output_size(); ++i) {
    const std::int64_t count = (*sizes)[static_cast<std::size_t>(i)];
    std::optional<AxisLayout> part = cut_out(*layout, *place, first, count);
    if (!part) return not_cut(*axis);
    if (!node.proto.output(i).empty()) keep_layout(node.proto.output(i), builder, *std::move(part));
    first += count;
  }
  return {};
}

Result<void> gather_laid(const OnnxNode& node, OnnxBuilder& builder) {
  return with_layout(node, builder, [&](const AxisLayout& layout) -> Result<AxisLayout> {
    const Result<std::int64_t> axis = node.attributes.integer("axis", 0);
    if (!axis) return axis.error();
    const Result<std::size_t> place = place_of_axis(*axis, layout.axes.size());
    if (!place) return place.error();
    const std::optional<KnownTensor> tensor = builder.known_at(node.proto, 1);
    const std::optional<Integers> index = whole_at(node, builder, 1);
    if (!index || index->size() != 1) return unsupported("of other than one constant place is not supported");
    const std::int64_t extent = extent_of(layout.axes[*place]);
    const std::int64_t first = index->front() < 0 ? index->front() + extent : index->front();
    if (first < 0 || first >= extent)
      return corrupt("takes place " + std::to_string(index->front()) + " of an axis of " + std::to_string(extent));
    std::optional<AxisLayout> part = cut_out(layout, *place, first, 1);
    if (!part) return not_cut(*axis);
    if (tensor->dims.empty()) part->axes.erase(part->axes.begin() + static_cast<std::ptrdiff_t>(*place));
    return *std::move(part);
  });
}

Result<void> slice_laid(const OnnxNode& node, OnnxBuilder& builder) {
  return with_layout(node, builder, [&](const AxisLayout& layout) -> Result<AxisLayout> {
    const std::optional<Integers> begin = whole_at(node, builder, 1);
    const std::optional<Integers> end = whole_at(node, builder, 2);
    const std::optional<Integers> axes = whole_at(node, builder, 3);
    const std::optional<Integers> steps = whole_at(node, builder, 4);
    const bool has_steps = OnnxBuilder::has_input(node.proto, 4);
    const bool is_one = begin && end && axes && begin->size() == 1 && end->size() == 1 && axes->size() == 1;
    if (!is_one || (has_steps && steps != Integers{1})) {
      return unsupported("of tokens is supported along one axis alone, with a step of 1");
    }
    const Result<std::size_t> place = place_of_axis(axes->front(), layout.axes.size());
    if (!place) return place.error();
    const std::int64_t extent = extent_of(layout.axes[*place]);
    const auto at = [&](std::int64_t bound) {
      return std::clamp<std::int64_t>(bound < 0 ? bound + extent : bound, 0, extent);
    };
    const std::int64_t first = at(begin->front());
    const std::int64_t count = at(end->front()) - first;
    std::optional<AxisLayout> part = count > 0 ? cut_out(layout, *place, first, count) : std::nullopt;
    return part ? Result<AxisLayout>(*std::move(part)) : not_cut(axes->front());
  });
}

Result<void> pass_laid_on(const OnnxNode& node, OnnxBuilder& builder) {
  if (const TokenScores* scores = builder.tokens().scores(node.proto.input(0))) {
    builder.tokens().note(node.proto.output(0), TokenScores(*scores));
    return {};
  }
  return with_layout(node, builder, [](const AxisLayout& layout) { return Result<AxisLayout>(layout); });
}

}  // namespace znni
