#include "proto/convert/onnx/folding/onnx_fold_weights.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <span>

#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/folding/onnx_fold_layout.hpp"
#include "proto/convert/onnx/graph/onnx_tensors.hpp"

namespace znni {
namespace {

using Names = std::string_view;
using Integers = std::vector<std::int64_t>;

struct Weights {
  Integers dims;
  std::vector<float> numbers;
};

// A node with the first of its inputs, a constant.
struct WeightNode {
  const onnx::NodeProto& proto;
  const OnnxAttributes& attributes;
  OnnxBuilder& builder;
  Weights first;
};

struct WeightRow {
  Names name;
  int max_inputs = 1;
  std::span<const Names> attributes;  // those of all operator sets
  Result<Weights> (*fold)(WeightNode& node);
};

Integers strides_of(const Integers& dims) {
  Integers strides(dims.size(), 1);
  for (std::size_t axis = dims.size(); axis-- > 1;) strides[axis - 1] = mul(strides[axis], dims[axis]);
  return strides;
}

std::int64_t count_of(const Integers& dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1},
                         [](std::int64_t a, std::int64_t b) { return mul(a, b); });
}

// Counts numbers that are read or made. Fails if there are too many.
Result<void> charge(OnnxBuilder& builder, std::int64_t numbers) {
  if (builder.known().count_weights(numbers) <= builder.max_parameters()) return {};
  return unsupported("computes with more than " + std::to_string(builder.max_parameters()) +
                     " constant numbers with the nodes before it, which is more than is plausible for a file of this "
                     "size");
}

Result<Weights> weights_at(const onnx::NodeProto& node, OnnxBuilder& builder, int index) {
  const onnx::TensorProto* tensor = builder.constant(node, index);
  if (tensor == nullptr) return corrupt("input " + std::to_string(index) + " is missing");
  Result<Integers> dims = dims_of(*tensor);
  if (!dims) return dims.error();
  if (Result<void> few = charge(builder, count_of(*dims)); !few) return few.error();
  Result<std::vector<float>> numbers = builder.floats_of(*tensor);
  if (!numbers) return numbers.error();
  return Weights{*std::move(dims), *std::move(numbers)};
}

// Calls visit(element, place) for all elements of extents `dims`: the sum of places along the axes times `strides`.
template <class Visit>
void for_each_place(const Integers& dims, const Integers& strides, Visit visit) {
  const std::int64_t count = count_of(dims);
  Integers at(dims.size(), 0);
  std::int64_t place = 0;
  for (std::int64_t element = 0; element < count; ++element) {
    visit(static_cast<std::size_t>(element), static_cast<std::size_t>(place));
    for (std::size_t axis = dims.size(); axis-- > 0;) {
      place += strides[axis];
      if (++at[axis] < dims[axis]) break;
      place -= strides[axis] * dims[axis];
      at[axis] = 0;
    }
  }
}

// Returns the strides of a tensor that is repeated to extents `dims`.
Integers strides_to(const Weights& from, const Integers& dims) {
  const Integers own = strides_of(from.dims);
  Integers strides(dims.size(), 0);
  for (std::size_t i = 1; i <= own.size(); ++i) {
    if (from.dims[own.size() - i] != 1) strides[dims.size() - i] = own[own.size() - i];
  }
  return strides;
}

template <float (*compute)(float a, float b)>
Result<Weights> of_two(WeightNode& node) {
  const Result<Weights> second = weights_at(node.proto, node.builder, 1);
  if (!second) return second;
  Result<Integers> dims = broadcast(node.first.dims, second->dims);
  if (!dims) return dims.error();
  const std::int64_t count = count_of(*dims);
  if (Result<void> few = charge(node.builder, count); !few) return few.error();
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for_each_place(*dims, strides_to(node.first, *dims),
                 [&](std::size_t element, std::size_t place) { numbers[element] = node.first.numbers[place]; });
  for_each_place(*dims, strides_to(*second, *dims), [&](std::size_t element, std::size_t place) {
    numbers[element] = compute(numbers[element], second->numbers[place]);
  });
  return Weights{*std::move(dims), std::move(numbers)};
}

template <float (*compute)(float a)>
Result<Weights> of_each(WeightNode& node) {
  for (float& number : node.first.numbers) number = compute(number);
  return std::move(node.first);
}

// How numbers are summed up, and what is made of the sum.
struct Reduction {
  bool squares = false;
  bool mean = false;
  bool root = false;
};
constexpr Reduction length = {true, false, true};
constexpr Reduction average = {false, true, false};
constexpr Reduction total = {};
constexpr Reduction energy = {true, false, false};

// Returns integers of a constant at input 1, or else of an attribute.
Result<Integers> integers_of(const WeightNode& node, std::string_view name) {
  if (!OnnxBuilder::has_input(node.proto, 1)) return node.attributes.integers(name);
  const std::optional<KnownTensor> tensor = node.builder.known_at(node.proto, 1);
  return tensor ? integers_of(*tensor) : unsupported("its " + std::string(name) + " are not known");
}

// Returns the named axes of a tensor of `count` axes, in order and each once.
Result<std::set<std::size_t>> axes_of(const Integers& named, std::size_t count) {
  const auto most = static_cast<std::int64_t>(count);
  std::set<std::size_t> axes;
  for (const std::int64_t axis : named) {
    const bool is_axis = axis >= -most && axis < most;
    if (is_axis && axes.insert(static_cast<std::size_t>(axis < 0 ? axis + most : axis)).second) continue;
    return corrupt("axis " + std::to_string(axis) + " of a tensor with " + std::to_string(most) + " axes, each once");
  }
  return axes;
}

// Returns the axes to reduce: all if the node names none, unless it says that it then does nothing.
Result<std::set<std::size_t>> reduced_axes(const WeightNode& node) {
  const Result<Integers> named = integers_of(node, "axes");
  if (!named) return named.error();
  const Result<std::int64_t> stays = node.attributes.integer("noop_with_empty_axes", 0);
  if (!stays) return stays.error();
  Integers all(named->empty() && *stays == 0 ? node.first.dims.size() : 0);
  std::iota(all.begin(), all.end(), 0);
  return axes_of(named->empty() ? all : *named, node.first.dims.size());
}

template <const Reduction& reduction>
Result<Weights> reduced(WeightNode& node) {
  const Result<std::set<std::size_t>> axes = reduced_axes(node);
  if (!axes) return axes.error();
  const Result<std::int64_t> keeps = node.attributes.integer("keepdims", 1);
  if (!keeps) return keeps.error();
  Integers whole = node.first.dims;
  for (const std::size_t axis : *axes) whole[axis] = 1;
  // Along an axis without extent a file of no numbers makes some.
  if (Result<void> few = charge(node.builder, count_of(whole)); !few) return few.error();
  Weights to{{}, std::vector<float>(static_cast<std::size_t>(count_of(whole)))};
  const Integers strides = strides_to({whole, {}}, node.first.dims);
  std::vector<double> sums(to.numbers.size(), 0.0);
  for_each_place(node.first.dims, strides, [&](std::size_t element, std::size_t place) {
    const double number = static_cast<double>(node.first.numbers[element]);
    sums[place] += reduction.squares ? number * number : number;
  });
  const auto each = static_cast<double>(node.first.numbers.size()) / static_cast<double>(sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const double sum = reduction.mean ? sums[i] / each : sums[i];
    to.numbers[i] = static_cast<float>(reduction.root ? std::sqrt(sum) : sum);
  }
  for (std::size_t axis = 0; axis < whole.size(); ++axis) {
    if (*keeps != 0 || !axes->contains(axis)) to.dims.push_back(whole[axis]);
  }
  return to;
}

Result<Weights> with_dims(WeightNode& node, Integers dims) {
  if (std::any_of(dims.begin(), dims.end(), [](std::int64_t extent) { return extent < 0; }) ||
      count_of(dims) != std::ssize(node.first.numbers)) {
    return corrupt("makes other extents of " + std::to_string(node.first.numbers.size()) + " numbers");
  }
  return Weights{std::move(dims), std::move(node.first.numbers)};
}

Result<Weights> reshaped(WeightNode& node) {
  Result<Integers> dims = integers_of(node, "shape");
  if (!dims) return dims.error();
  const Result<std::int64_t> allows_zero = node.attributes.integer("allowzero", 0);
  if (!allows_zero) return allows_zero.error();
  std::int64_t others = 1;
  for (std::size_t axis = 0; axis < dims->size(); ++axis) {
    std::int64_t& extent = (*dims)[axis];
    if (extent == 0 && *allows_zero == 0 && axis < node.first.dims.size()) extent = node.first.dims[axis];
    if (extent > 0) others = mul(others, extent);
  }
  const auto open = std::find(dims->begin(), dims->end(), -1);
  if (open != dims->end()) *open = std::ssize(node.first.numbers) / others;
  return with_dims(node, *std::move(dims));
}

Result<Weights> unsqueezed(WeightNode& node) {
  const Result<Integers> named = integers_of(node, "axes");
  if (!named) return named.error();
  const Result<std::set<std::size_t>> axes = axes_of(*named, node.first.dims.size() + named->size());
  if (!axes) return axes.error();
  Integers dims = node.first.dims;
  for (const std::size_t axis : *axes) dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  return with_dims(node, std::move(dims));
}

Result<Weights> squeezed(WeightNode& node) {
  const Result<Integers> named = integers_of(node, "axes");
  if (!named) return named.error();
  const Result<std::set<std::size_t>> axes = axes_of(*named, node.first.dims.size());
  if (!axes) return axes.error();
  Integers dims;
  for (std::size_t axis = 0; axis < node.first.dims.size(); ++axis) {
    const bool goes = axes->empty() ? node.first.dims[axis] == 1 : axes->contains(axis);
    if (!goes) dims.push_back(node.first.dims[axis]);
  }
  return with_dims(node, std::move(dims));
}

Result<Weights> transposed(WeightNode& node) {
  const std::size_t count = node.first.dims.size();
  Result<Integers> perm = node.attributes.integers("perm");
  if (!perm) return perm.error();
  if (perm->empty()) {
    perm->resize(count);
    std::iota(perm->rbegin(), perm->rend(), 0);
  }
  const Result<std::set<std::size_t>> each = axes_of(*perm, count);
  if (!each || each->size() != count) return corrupt("perm is no order of " + std::to_string(count) + " axes");
  const Integers own = strides_of(node.first.dims);
  Weights to;
  Integers strides;
  for (const std::int64_t named : *perm) {
    const auto axis = static_cast<std::size_t>(named < 0 ? named + static_cast<std::int64_t>(count) : named);
    to.dims.push_back(node.first.dims[axis]);
    strides.push_back(own[axis]);
  }
  to.numbers.resize(node.first.numbers.size());
  for_each_place(to.dims, strides,
                 [&](std::size_t element, std::size_t place) { to.numbers[element] = node.first.numbers[place]; });
  return to;
}

Result<Weights> as_it_is(WeightNode& node) { return std::move(node.first); }

// Converts to float32: what the file would compute in less is not rounded to that.
Result<Weights> cast_to_real(WeightNode& node) {
  const Result<std::int64_t> to = node.attributes.integer("to", onnx::TensorProto::UNDEFINED);
  if (!to) return to.error();
  constexpr std::array<std::int64_t, 4> reals = {onnx::TensorProto::FLOAT, onnx::TensorProto::FLOAT16,
                                                 onnx::TensorProto::BFLOAT16, onnx::TensorProto::DOUBLE};
  if (std::find(reals.begin(), reals.end(), *to) != reals.end()) return std::move(node.first);
  return unsupported("of weights to elements of type number " + std::to_string(*to) +
                     " is not supported; only to floating point");
}

float sum_of(float a, float b) { return a + b; }
float difference_of(float a, float b) { return a - b; }
float product_of(float a, float b) { return a * b; }
float quotient_of(float a, float b) { return a / b; }
float power_of(float a, float b) { return std::pow(a, b); }
float root_of(float a) { return std::sqrt(a); }
float negative_of(float a) { return -a; }
float absolute_of(float a) { return std::fabs(a); }
float inverse_of(float a) { return 1 / a; }

constexpr std::array<Names, 1> allowzero = {"allowzero"};
constexpr std::array<Names, 1> axes_alone = {"axes"};
constexpr std::array<Names, 3> cast = {"round_mode", "saturate", "to"};
constexpr std::array<Names, 1> perm_alone = {"perm"};
constexpr std::array<Names, 3> reducing = {"axes", "keepdims", "noop_with_empty_axes"};

constexpr std::array<WeightRow, 19> rows = {{
    {"Abs", 1, {}, of_each<absolute_of>},
    {"Add", 2, {}, of_two<sum_of>},
    {"Cast", 1, cast, cast_to_real},
    {"Div", 2, {}, of_two<quotient_of>},
    {"Identity", 1, {}, as_it_is},
    {"Mul", 2, {}, of_two<product_of>},
    {"Neg", 1, {}, of_each<negative_of>},
    {"Pow", 2, {}, of_two<power_of>},
    {"Reciprocal", 1, {}, of_each<inverse_of>},
    {"ReduceL2", 2, reducing, reduced<length>},
    {"ReduceMean", 2, reducing, reduced<average>},
    {"ReduceSum", 2, reducing, reduced<total>},
    {"ReduceSumSquare", 2, reducing, reduced<energy>},
    {"Reshape", 2, allowzero, reshaped},
    {"Sqrt", 1, {}, of_each<root_of>},
    {"Squeeze", 2, axes_alone, squeezed},
    {"Sub", 2, {}, of_two<difference_of>},
    {"Transpose", 1, perm_alone, transposed},
    {"Unsqueeze", 2, axes_alone, unsqueezed},
}};

// Returns the row of a node whose inputs are constants, the first one of reals; nullptr for any other node.
const WeightRow* row_of(const onnx::NodeProto& node, const OnnxBuilder& builder) {
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const WeightRow& known) { return is_operator(node, known.name); });
  if (row == rows.end() || node.input_size() < 1 || node.input_size() > row->max_inputs) return nullptr;
  for (int i = 0; i < node.input_size(); ++i) {
    if (OnnxBuilder::has_input(node, i) && builder.constant(node, i) == nullptr) return nullptr;
  }
  const onnx::TensorProto* first = builder.constant(node, 0);
  const Result<std::int64_t> bytes = first == nullptr ? -1 : stored_bytes(*first);
  return bytes && *bytes >= 0 ? &*row : nullptr;
}

onnx::TensorProto tensor_of(const std::string& name, const Weights& weights) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  for (const std::int64_t extent : weights.dims) tensor.add_dims(extent);
  tensor.mutable_float_data()->Add(weights.numbers.begin(), weights.numbers.end());
  return tensor;
}

}  // namespace

Result<bool> fold_weights(const onnx::NodeProto& node, OnnxBuilder& builder) {
  const WeightRow* row = row_of(node, builder);
  if (row == nullptr) return false;
  const Result<OnnxAttributes> attributes = OnnxAttributes::make(node, row->attributes);
  if (!attributes) return attributes.error();
  Result<Weights> first = weights_at(node, builder, 0);
  if (!first) return first.error();
  WeightNode with{node, *attributes, builder, *std::move(first)};
  const Result<Weights> made = row->fold(with);
  if (!made) return made.error();
  const Result<void> set = builder.known().set_weights(node.output(0), tensor_of(node.output(0), *made));
  return set ? Result<bool>(true) : set.error();
}

}  // namespace znni
