#include "proto/convert/onnx/folding/onnx_fold_layout.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "proto/convert/base/errors.hpp"

namespace znni {
namespace {

using Names = std::string_view;
using Integers = std::vector<std::int64_t>;

std::int64_t size_of(const KnownTensor& tensor) { return static_cast<std::int64_t>(tensor.elements.size()); }
std::int64_t axes_of(const KnownTensor& tensor) { return static_cast<std::int64_t>(tensor.dims.size()); }

// Returns elements per step along each axis.
Integers strides_of(const Integers& dims) {
  Integers strides(dims.size(), 1);
  for (std::size_t axis = dims.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * dims[axis];
  return strides;
}

// Returns a tensor of extents `dims` whose element at a place is that of `from` at offset + the sum of place * stride.
// `dims` are those of a known tensor, and all places lie within `from`.
KnownTensor strided(const KnownTensor& from, const Integers& dims, const Integers& strides, std::int64_t offset) {
  KnownTensor to{from.kind, dims, {}};
  const std::int64_t count = std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
  for (std::int64_t element = 0; element < count; ++element) {
    std::int64_t at = offset;
    std::int64_t rest = element;
    for (std::size_t axis = dims.size(); axis-- > 0; rest /= dims[axis]) at += rest % dims[axis] * strides[axis];
    to.elements.push_back(from.elements[static_cast<std::size_t>(at)]);
  }
  return to;
}

Result<std::size_t> axis_of(std::int64_t axis, std::int64_t axes) {
  if (axis >= -axes && axis < axes) return static_cast<std::size_t>(axis < 0 ? axis + axes : axis);
  return corrupt("axis " + std::to_string(axis) + " of a tensor with " + std::to_string(axes) + " axes");
}

Result<KnownTensor> fold_identity(const FoldNode& node) { return *node.inputs[0]; }

Result<KnownTensor> reshaped(const KnownTensor& from, Integers dims) {
  const Result<std::int64_t> count = known_count(dims);
  if (!count) return count.error();
  if (*count == size_of(from)) return KnownTensor{from.kind, std::move(dims), from.elements};
  return corrupt("makes " + std::to_string(*count) + " elements of " + std::to_string(size_of(from)));
}

Result<KnownTensor> fold_reshape(const FoldNode& node) {
  const KnownTensor& from = *node.inputs[0];
  Result<Integers> dims = node.integers(1, "shape");
  if (!dims) return dims.error();
  const Result<std::int64_t> allows_zero = node.attributes.integer("allowzero", 0);
  if (!allows_zero) return allows_zero.error();
  std::int64_t others = 1;
  std::int64_t* open = nullptr;
  for (std::size_t axis = 0; axis < dims->size(); ++axis) {
    std::int64_t& extent = (*dims)[axis];
    if (extent == 0 && *allows_zero == 0 && axis < from.dims.size()) extent = from.dims[axis];
    if (extent == -1 && open != nullptr) return corrupt("leaves two extents open");
    if (extent == -1) open = &extent;
    if (extent >= 0) others = mul(others, extent);
  }
  if (open != nullptr) *open = others > 0 ? size_of(from) / others : 0;
  return reshaped(from, *std::move(dims));
}

// Returns the axes that the node names, each in [0, axes), in order; nothing if it names none.
Result<std::set<std::size_t>> named_axes(const FoldNode& node, std::int64_t axes) {
  const Result<Integers> named = node.integers(1, "axes");
  if (!named) return named.error();
  std::set<std::size_t> result;
  for (const std::int64_t name : *named) {
    const Result<std::size_t> axis = axis_of(name, axes);
    if (!axis) return axis.error();
    if (!result.insert(*axis).second) return corrupt("axis " + std::to_string(name) + " stands twice among its axes");
  }
  return result;
}

Result<KnownTensor> fold_unsqueeze(const FoldNode& node) {
  const KnownTensor& from = *node.inputs[0];
  const Result<Integers> named = node.integers(1, "axes");
  if (!named) return named.error();
  const Result<std::set<std::size_t>> axes = named_axes(node, axes_of(from) + static_cast<std::int64_t>(named->size()));
  if (!axes) return axes.error();
  Integers dims = from.dims;
  for (const std::size_t axis : *axes) dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  return reshaped(from, std::move(dims));
}

Result<KnownTensor> fold_squeeze(const FoldNode& node) {
  const KnownTensor& from = *node.inputs[0];
  const Result<std::set<std::size_t>> axes = named_axes(node, axes_of(from));
  if (!axes) return axes.error();
  Integers dims;
  for (std::size_t axis = 0; axis < from.dims.size(); ++axis) {
    const bool named = axes->empty() ? from.dims[axis] == 1 : axes->contains(axis);
    if (!named) dims.push_back(from.dims[axis]);
  }
  return reshaped(from, std::move(dims));
}

Result<KnownTensor> fold_transpose(const FoldNode& node) {
  const KnownTensor& from = *node.inputs[0];
  Result<Integers> perm = node.attributes.integers("perm");
  if (!perm) return perm.error();
  if (node.attributes.find("perm") == nullptr) {
    perm->resize(from.dims.size());
    std::iota(perm->rbegin(), perm->rend(), 0);
  }
  const std::set<std::int64_t> each(perm->begin(), perm->end());
  const bool whole = perm->size() == from.dims.size() && each.size() == perm->size();
  if (!whole || (!each.empty() && (*each.begin() < 0 || *each.rbegin() >= axes_of(from)))) {
    return corrupt("perm is no order of " + std::to_string(axes_of(from)) + " axes");
  }
  const Integers strides = strides_of(from.dims);
  Integers dims;
  Integers steps;
  for (const std::int64_t axis : *perm) {
    dims.push_back(from.dims[static_cast<std::size_t>(axis)]);
    steps.push_back(strides[static_cast<std::size_t>(axis)]);
  }
  return strided(from, dims, steps, 0);
}

Result<KnownTensor> fold_gather(const FoldNode& node) {
  const KnownTensor& from = *node.inputs[0];
  const Result<Integers> indices = integers_of(*node.inputs[1]);
  if (!indices) return indices.error();
  const Result<std::int64_t> named = node.attributes.integer("axis", 0);
  if (!named) return named.error();
  const Result<std::size_t> axis = axis_of(*named, axes_of(from));
  if (!axis) return axis.error();
  const auto at = from.dims.begin() + static_cast<std::ptrdiff_t>(*axis);
  Integers dims(from.dims.begin(), at);
  dims.insert(dims.end(), node.inputs[1]->dims.begin(), node.inputs[1]->dims.end());
  dims.insert(dims.end(), at + 1, from.dims.end());
  if (const Result<std::int64_t> count = known_count(dims); !count) return count.error();
  const std::int64_t inner = strides_of(from.dims)[*axis];
  const std::int64_t outer = std::accumulate(from.dims.begin(), at, std::int64_t{1}, std::multiplies<>());
  KnownTensor to{from.kind, dims, {}};
  for (std::int64_t block = 0; block < outer; ++block) {
    for (const std::int64_t index : *indices) {
      const Result<std::size_t> place = axis_of(index, *at);
      if (!place) return corrupt("index " + std::to_string(index) + " of " + std::to_string(*at) + " elements");
      const std::int64_t begin = (block * *at + static_cast<std::int64_t>(*place)) * inner;
      to.elements.insert(to.elements.end(), from.elements.begin() + begin, from.elements.begin() + begin + inner);
    }
  }
  return to;
}

// Range of an axis that a Slice keeps: `count` elements from `first` on, `step` apart.
struct Kept {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t step = 1;
};

Kept kept_of(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t n) {
  const bool forward = step > 0;
  const std::int64_t least = forward ? 0 : -1;
  const auto place = [&](std::int64_t at, std::int64_t most) { return std::clamp(at < 0 ? at + n : at, least, most); };
  const std::int64_t first = std::max<std::int64_t>(0, place(start, forward ? n : n - 1));
  const std::int64_t last = place(end, forward ? n : n - 1);
  const bool none = n == 0 || (forward ? last <= first : last >= first);
  if (none) return {0, 0, 1};
  const std::int64_t span = forward ? last - first : first - last;
  const std::int64_t length = std::clamp<std::int64_t>(step, -max_known_elements, max_known_elements);
  return {first, (span - 1) / (forward ? length : -length) + 1, length};
}

Result<KnownTensor> fold_slice(const FoldNode& node) {
  const KnownTensor& from = *node.inputs[0];
  const Result<Integers> starts = node.integers(1, "starts");
  if (!starts) return starts.error();
  const Result<Integers> ends = node.integers(2, "ends");
  if (!ends) return ends.error();
  Result<Integers> axes = node.integers(3, "axes");
  if (!axes) return axes.error();
  Result<Integers> steps = node.integers(4, "steps");
  if (!steps) return steps.error();
  if (axes->empty()) {
    axes->resize(starts->size());
    std::iota(axes->begin(), axes->end(), 0);
  }
  if (steps->empty()) steps->assign(starts->size(), 1);
  if (ends->size() != starts->size() || axes->size() != starts->size() || steps->size() != starts->size()) {
    return corrupt("has other numbers of starts, ends, axes and steps");
  }
  Integers dims = from.dims;
  Integers strides = strides_of(from.dims);
  std::int64_t offset = 0;
  std::set<std::size_t> seen;
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const Result<std::size_t> axis = axis_of((*axes)[i], axes_of(from));
    if (!axis) return axis.error();
    if (!seen.insert(*axis).second) return corrupt("axis " + std::to_string(*axis) + " stands twice among its axes");
    if ((*steps)[i] == 0) return corrupt("has a step of 0");
    const Kept kept = kept_of((*starts)[i], (*ends)[i], (*steps)[i], dims[*axis]);
    offset += kept.first * strides[*axis];
    dims[*axis] = kept.count;
    strides[*axis] *= kept.step;
  }
  return strided(from, dims, strides, offset);
}

Result<KnownTensor> fold_concat(const FoldNode& node) {
  const KnownTensor& first = *node.inputs[0];
  const Result<std::int64_t> named = node.attributes.integer("axis", 0);
  if (!named) return named.error();
  const Result<std::size_t> axis = axis_of(*named, axes_of(first));
  if (!axis) return axis.error();
  Integers dims = first.dims;
  dims[*axis] = 0;
  for (const std::optional<KnownTensor>& input : node.inputs) {
    Integers others = input ? input->dims : Integers();
    const bool fits = input && input->kind == first.kind && others.size() == dims.size();
    if (fits) others[*axis] = dims[*axis];
    if (!fits || others != dims) return corrupt("its inputs do not fit to each other");
    dims[*axis] = add(dims[*axis], input->dims[*axis]);
  }
  if (const Result<std::int64_t> count = known_count(dims); !count) return count.error();
  const auto at = dims.begin() + static_cast<std::ptrdiff_t>(*axis);
  const std::int64_t outer = std::accumulate(dims.begin(), at, std::int64_t{1}, std::multiplies<>());
  KnownTensor to{first.kind, dims, {}};
  for (std::int64_t block = 0; block < outer; ++block) {
    for (const std::optional<KnownTensor>& input : node.inputs) {
      const std::int64_t length = size_of(*input) / outer;
      const auto begin = input->elements.begin() + block * length;
      to.elements.insert(to.elements.end(), begin, begin + length);
    }
  }
  return to;
}

Result<KnownTensor> fold_expand(const FoldNode& node) {
  const Result<Integers> wanted = integers_of(*node.inputs[1]);
  if (!wanted) return wanted.error();
  const Result<Integers> dims = broadcast(node.inputs[0]->dims, *wanted);
  return dims ? expanded(*node.inputs[0], *dims) : dims.error();
}

Result<KnownTensor> fold_constant_of_shape(const FoldNode& node) {
  const Result<Integers> dims = integers_of(*node.inputs[0]);
  if (!dims) return dims.error();
  const Result<std::int64_t> count = known_count(*dims);
  if (!count) return count.error();
  const onnx::AttributeProto* value = node.attributes.find("value");
  std::optional<KnownTensor> one = KnownTensor{KnownKind::real, {1}, {KnownElement{}}};
  if (value != nullptr) one = known_tensor_of(value->t());
  if (!one || one->elements.size() != 1) return unsupported("its value is no single integer, boolean or float32");
  return KnownTensor{one->kind, *dims, std::vector(static_cast<std::size_t>(*count), one->elements[0])};
}

Result<KnownTensor> fold_range(const FoldNode& node) {
  Integers ends;
  for (const std::optional<KnownTensor>& input : node.inputs) {
    const Result<Integers> end = integers_of(*input);
    if (!end) return end.error();
    if (end->size() != 1) return corrupt("has a start, limit or delta that is no scalar");
    ends.push_back(end->front());
  }
  const std::int64_t delta = ends[2];
  std::int64_t span = 0;
  const bool fits =
      !__builtin_sub_overflow(ends[1], ends[0], &span) && span > -saturated && delta != 0 && delta > -saturated;
  if (!fits) return corrupt("has a delta of " + std::to_string(delta) + ", or too large a range");
  const bool none = span == 0 || (span > 0) != (delta > 0);
  const std::int64_t count = none ? 0 : div_up(span > 0 ? span : -span, delta > 0 ? delta : -delta);
  if (const Result<std::int64_t> sound = known_count({count}); !sound) return sound.error();
  KnownTensor to{KnownKind::integer, {count}, {}};
  for (std::int64_t i = 0; i < count; ++i) to.elements.push_back({{ends[0] + i * delta, {}}, 0});
  return to;
}

constexpr std::array<Names, 1> allowzero = {"allowzero"};
constexpr std::array<Names, 1> axes = {"axes"};
constexpr std::array<Names, 1> axis = {"axis"};
constexpr std::array<Names, 1> perm = {"perm"};
constexpr std::array<Names, 3> slice = {"axes", "ends", "starts"};
constexpr std::array<Names, 1> value = {"value"};
constexpr int many = 1024;

constexpr std::array<FoldRow, 11> rows = {{
    {"Concat", 1, many, axis, fold_concat},
    {"ConstantOfShape", 1, 1, value, fold_constant_of_shape},
    {"Expand", 2, 2, {}, fold_expand},
    {"Gather", 2, 2, axis, fold_gather},
    {"Identity", 1, 1, {}, fold_identity},
    {"Range", 3, 3, {}, fold_range},
    {"Reshape", 2, 2, allowzero, fold_reshape},
    {"Slice", 1, 5, slice, fold_slice},
    {"Squeeze", 1, 2, axes, fold_squeeze},
    {"Transpose", 1, 1, perm, fold_transpose},
    {"Unsqueeze", 1, 2, axes, fold_unsqueeze},
}};

}  // namespace

std::span<const FoldRow> layout_folds() { return rows; }

Result<std::vector<std::int64_t>> broadcast(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  Integers dims(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 1; i <= dims.size(); ++i) {
    const std::int64_t of_a = i <= a.size() ? a[a.size() - i] : 1;
    const std::int64_t of_b = i <= b.size() ? b[b.size() - i] : 1;
    if (of_a != of_b && of_a != 1 && of_b != 1) {
      return corrupt("its inputs have extents of " + std::to_string(of_a) + " and " + std::to_string(of_b));
    }
    dims[dims.size() - i] = of_a == 1 ? of_b : of_a;
  }
  return dims;
}

Result<KnownTensor> expanded(const KnownTensor& tensor, const std::vector<std::int64_t>& dims) {
  if (const Result<std::int64_t> count = known_count(dims); !count) return count.error();
  const Integers own = strides_of(tensor.dims);
  Integers strides(dims.size(), 0);
  for (std::size_t i = 1; i <= own.size(); ++i) {
    if (tensor.dims[own.size() - i] != 1) strides[dims.size() - i] = own[own.size() - i];
  }
  return strided(tensor, dims, strides, 0);
}

}  // namespace znni
