#include "proto/convert/onnx_crop.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <set>

#include "proto/convert/errors.hpp"
#include "proto/convert/onnx_join.hpp"
#include "proto/convert/onnx_tensors.hpp"

namespace znni {
namespace {

using Integers = std::vector<std::int64_t>;

constexpr std::int64_t opset_of_inputs = 10;                      // older sets have attributes instead of inputs
constexpr std::int64_t most_border = std::int64_t{1} << 20;       // upper bound of any net's reach
constexpr std::int64_t to_the_end = (std::int64_t{1} << 31) - 1;  // exporters write this or more for "to the end"
constexpr int image_axis = 1;

// Returns the constant numbers at an input of the node; nullopt if the node lacks that input.
Result<std::optional<Integers>> constants_at(const OnnxNode& node, const OnnxBuilder& builder, int input,
                                             std::string_view what) {
  if (!OnnxBuilder::has_input(node.proto, input)) return std::optional<Integers>();
  const onnx::TensorProto* tensor = builder.constant(node.proto, input);
  if (tensor == nullptr) {
    return unsupported("its " + std::string(what) + " are computed; only constants are supported");
  }
  Result<Integers> values = integers_of(*tensor);
  if (!values) return values.error();
  return std::optional<Integers>(*std::move(values));
}

// Returns the list called `name`: input `input`, or in old operator sets an attribute. Returns nullopt if the node has
// none.
Result<std::optional<Integers>> list_of(const OnnxNode& node, const OnnxBuilder& builder, std::string_view name,
                                        int input) {
  if (builder.opset() >= opset_of_inputs) return constants_at(node, builder, input, name);
  Result<Integers> values = node.attributes.integers(name);
  if (!values) return values.error();
  return node.attributes.find(name) == nullptr ? std::optional<Integers>() : std::optional(*std::move(values));
}

// Range that a Slice keeps of one axis of [N][f][spatial...].
struct Range {
  int axis = 0;
  std::int64_t start = 0;
  std::int64_t end = 0;
};

std::string text_of(const Range& range) {
  return "[" + std::to_string(range.start) + ", " + std::to_string(range.end) + ") of axis " +
         std::to_string(range.axis);
}

// Returns the axis as an index from 0; negative axes count from the last.
Result<int> axis_of(std::int64_t axis, int axes) {
  if (axis >= -axes && axis < axes) return static_cast<int>(axis < 0 ? axis + axes : axis);
  return corrupt("axis " + std::to_string(axis) + " of a tensor with " + std::to_string(axes) + " axes");
}

Integers first_axes(std::size_t count) {
  Integers axes(count);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Result<std::vector<Range>> ranges_of(const OnnxNode& node, const OnnxBuilder& builder) {
  constexpr std::array<std::string_view, 4> names = {"starts", "ends", "axes", "steps"};
  std::array<std::optional<Integers>, names.size()> lists;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Result<std::optional<Integers>> list = list_of(node, builder, names[i], static_cast<int>(i) + 1);
    if (!list) return list.error();
    lists[i] = *std::move(list);
  }
  const auto& [starts, ends, axes, steps] = lists;
  if (!starts || !ends) return corrupt("starts or ends are missing");
  const Integers numbers = axes.value_or(first_axes(starts->size()));
  const Integers strides = steps.value_or(Integers(starts->size(), 1));
  const std::size_t count = starts->size();
  if (ends->size() != count || numbers.size() != count || strides.size() != count) {
    return corrupt("has " + std::to_string(count) + " starts, " + std::to_string(ends->size()) + " ends, " +
                   std::to_string(numbers.size()) + " axes and " + std::to_string(strides.size()) +
                   " steps; as many of each are right");
  }
  std::vector<Range> ranges;
  std::set<int> seen;
  for (std::size_t i = 0; i < count; ++i) {
    const Result<int> axis = axis_of(numbers[i], builder.rank() + 2);
    if (!axis) return axis.error();
    if (!seen.insert(*axis).second) return corrupt("axis " + std::to_string(*axis) + " stands twice among its axes");
    if (strides[i] != 1) return unsupported("steps of " + std::to_string(strides[i]) + " are not supported; only 1");
    ranges.push_back({*axis, (*starts)[i], (*ends)[i]});
  }
  return ranges;
}

// Fails if a range of the batch or channel axis does not keep all of it.
Result<void> check_whole(const Range& range, std::int64_t images) {
  const std::int64_t all = range.axis == image_axis ? images : to_the_end;
  const bool begins = range.start == 0 || (range.axis == image_axis && range.start <= -images);
  if (begins && range.end >= all) return {};
  return unsupported("keeps " + text_of(range) + "; only spatial axes can be cropped");
}

struct Ends {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// Returns the border that a range removes from an axis. `n` is the extent that the file declares, 0 if it is open.
Result<Ends> border_of(const Range& range, std::int64_t n) {
  const bool relative = range.start < 0 || (range.end >= 0 && range.end < to_the_end);
  if (relative && n == 0) {
    return unsupported("keeps " + text_of(range) + ", which depends on an extent that the file leaves open; starts " +
                       "from 0 up and ends below 0 are right");
  }
  Ends border;
  border.begin = range.start < 0 ? std::max<std::int64_t>(0, n + range.start) : range.start;
  if (range.end < 0) border.end = -std::max(range.end, -most_border - 1);
  if (range.end >= 0 && range.end < to_the_end) border.end = std::max<std::int64_t>(0, n - range.end);
  const bool nothing_left = n > 0 && add(border.begin, border.end) >= n;
  if (nothing_left) return corrupt("keeps " + text_of(range) + ": nothing of " + std::to_string(n) + " voxels");
  if (border.begin <= most_border && border.end <= most_border) return border;
  return unsupported("keeps " + text_of(range) + ": borders of at most " + std::to_string(most_border) +
                     " voxels are supported");
}

Result<void> append_crop(const OnnxNode& node, OnnxBuilder& builder, int input, const Crop& crop) {
  if (crop == Crop{}) return convert_identity(node, builder);
  builder.append(node.proto, crop, {input}, builder.images(input));
  return {};
}

// Returns the crop of negative pads. `pads` holds all begins, then all ends, of the axes in `axes`; none may be above
// 0.
Result<Crop> cropped_by(const Integers& pads, const Integers& axes, int rank) {
  if (pads.size() != 2 * axes.size()) {
    return corrupt("has " + std::to_string(pads.size()) + " pads; " + std::to_string(2 * axes.size()) + " are right");
  }
  Crop crop;
  std::set<int> seen;
  for (std::size_t i = 0; i < pads.size(); ++i) {
    const Result<int> axis = axis_of(axes[i % axes.size()], rank + 2);
    if (!axis) return axis.error();
    const bool is_new = i >= axes.size() || seen.insert(*axis).second;
    if (!is_new) return corrupt("axis " + std::to_string(*axis) + " stands twice among its axes");
    const bool spatial = *axis > image_axis;
    if (pads[i] > 0 || pads[i] < (spatial ? -most_border : 0)) {
      return unsupported("pads of " + std::to_string(pads[i]) + " are not supported; only 0" +
                         (spatial ? ", and below 0, which crops" : ""));
    }
    if (spatial) (i < axes.size() ? crop.begin : crop.end)[*axis + 1 - rank] = -pads[i];
  }
  return crop;
}

}  // namespace

Result<void> convert_slice(const OnnxNode& node, OnnxBuilder& builder) {
  const Result<int> input = builder.value(node.proto, 0);
  if (!input) return input.error();
  const Result<std::vector<Range>> ranges = ranges_of(node, builder);
  if (!ranges) return ranges.error();
  Crop crop;
  for (const Range& range : *ranges) {
    if (range.axis <= image_axis) {
      if (Result<void> whole = check_whole(range, builder.images(*input)); !whole) return whole;
      continue;
    }
    if (builder.is_guessed(*input)) continue;
    const int axis = range.axis + 1 - builder.rank();
    const Result<Ends> border = border_of(range, builder.extent(*input)[axis]);
    if (!border) return border.error();
    crop.begin[axis] = border->begin;
    crop.end[axis] = border->end;
  }
  return append_crop(node, builder, *input, crop);
}

Result<void> convert_pad(const OnnxNode& node, OnnxBuilder& builder) {
  constexpr int pads_input = 1;  // an attribute before operator set 11
  constexpr int axes_input = 3;  // since operator set 18
  const Result<int> input = builder.value(node.proto, 0);
  if (!input) return input.error();
  const Result<std::optional<Integers>> given = constants_at(node, builder, pads_input, "pads");
  if (!given) return given.error();
  Result<Integers> pads = *given ? Result<Integers>(**given) : node.attributes.integers("pads");
  if (!pads) return pads.error();
  const Result<std::optional<Integers>> named = constants_at(node, builder, axes_input, "axes");
  if (!named) return named.error();
  const std::size_t all = static_cast<std::size_t>(builder.rank()) + 2;
  const Result<Crop> crop = cropped_by(*pads, (*named).value_or(first_axes(all)), builder.rank());
  return crop ? append_crop(node, builder, *input, *crop) : crop.error();
}

}  // namespace znni
