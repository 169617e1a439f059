#include "proto/convert/onnx/folding/onnx_fold_arithmetic.hpp"

#include <array>
#include <cmath>
#include <limits>

#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/folding/onnx_fold_layout.hpp"

namespace znni {
namespace {

using Names = std::string_view;
using Number = VolumeNumber;

Error undecided(const Number& a, const Number& b) {
  return unsupported("makes of " + to_string(a) + " and " + to_string(b) + " nothing that is known for all volumes");
}

KnownElement boolean(bool value) { return {{value ? 1 : 0, {}}, 0}; }

// An operator of two integers or reals.
struct Arithmetic {
  std::optional<Number> (*whole)(const Number& a, const Number& b);
  float (*real)(float a, float b);
};

// An operator of two integers or booleans that says yes or no.
using Comparison = std::optional<bool> (*)(const Number& a, const Number& b);

std::optional<Number> lesser(const Number& a, const Number& b) {
  const std::optional<bool> less = is_less(a, b);
  if (less) return *less ? a : b;
  const std::optional<bool> more = is_less(b, a);
  return more ? std::optional(*more ? b : a) : std::nullopt;
}

std::optional<Number> greater(const Number& a, const Number& b) {
  const std::optional<Number> least = lesser(a, b);
  if (!least) return std::nullopt;
  return *least == a ? b : a;
}

std::optional<bool> negated(std::optional<bool> value) { return value ? std::optional(!*value) : std::nullopt; }

std::optional<bool> is_greater(const Number& a, const Number& b) { return is_less(b, a); }
std::optional<bool> is_at_least(const Number& a, const Number& b) { return negated(is_less(a, b)); }
std::optional<bool> is_at_most(const Number& a, const Number& b) { return negated(is_less(b, a)); }
std::optional<bool> both(const Number& a, const Number& b) { return a.least != 0 && b.least != 0; }
std::optional<bool> either(const Number& a, const Number& b) { return a.least != 0 || b.least != 0; }

constexpr Arithmetic addition = {sum, [](float a, float b) { return a + b; }};
constexpr Arithmetic subtraction = {difference, [](float a, float b) { return a - b; }};
constexpr Arithmetic multiplication = {product, [](float a, float b) { return a * b; }};
constexpr Arithmetic division = {quotient, [](float a, float b) { return a / b; }};
constexpr Arithmetic minimum = {lesser, [](float a, float b) { return a < b ? a : b; }};
constexpr Arithmetic maximum = {greater, [](float a, float b) { return a > b ? a : b; }};

Result<KnownElement> computed(const Arithmetic& arithmetic, KnownKind kind, const KnownElement& a,
                              const KnownElement& b) {
  if (kind == KnownKind::real) return KnownElement{{}, arithmetic.real(a.real, b.real)};
  const std::optional<Number> result = arithmetic.whole(a.whole, b.whole);
  return result ? Result<KnownElement>(KnownElement{*result, 0}) : undecided(a.whole, b.whole);
}

// Returns the tensor of what `compute` makes of every two elements. Fails if the kinds differ.
template <class Compute>
Result<KnownTensor> by_element(const KnownTensor& a, const KnownTensor& b, KnownKind kind, Compute compute) {
  if (a.kind != b.kind) return corrupt("its inputs are of different types");
  const Result<std::vector<std::int64_t>> dims = broadcast(a.dims, b.dims);
  if (!dims) return dims.error();
  const Result<KnownTensor> left = expanded(a, *dims);
  if (!left) return left;
  const Result<KnownTensor> right = expanded(b, *dims);
  if (!right) return right;
  KnownTensor to{kind, *dims, {}};
  for (std::size_t i = 0; i < left->elements.size(); ++i) {
    const Result<KnownElement> element = compute(left->elements[i], right->elements[i]);
    if (!element) return element.error();
    to.elements.push_back(*element);
  }
  return to;
}

Result<KnownTensor> computed(const Arithmetic& arithmetic, const KnownTensor& a, const KnownTensor& b) {
  if (a.kind == KnownKind::boolean) return unsupported("computes with booleans");
  return by_element(a, b, a.kind, [&](const KnownElement& left, const KnownElement& right) {
    return computed(arithmetic, a.kind, left, right);
  });
}

template <const Arithmetic& arithmetic>
Result<KnownTensor> fold_arithmetic(const FoldNode& node) {
  KnownTensor result = *node.inputs[0];
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (!node.has(i)) return corrupt("input " + std::to_string(i) + " is missing");
    Result<KnownTensor> next = computed(arithmetic, result, *node.inputs[i]);
    if (!next) return next;
    result = *std::move(next);
  }
  return result;
}

template <Comparison compare>
Result<KnownTensor> fold_comparison(const FoldNode& node) {
  const KnownTensor& a = *node.inputs[0];
  if (a.kind == KnownKind::real) return unsupported("compares reals; only integers and booleans are supported");
  return by_element(a, *node.inputs[1], KnownKind::boolean,
                    [](const KnownElement& left, const KnownElement& right) -> Result<KnownElement> {
                      const std::optional<bool> result = compare(left.whole, right.whole);
                      return result ? Result<KnownElement>(boolean(*result)) : undecided(left.whole, right.whole);
                    });
}

template <Comparison compare>
Result<KnownTensor> fold_logic(const FoldNode& node) {
  if (node.inputs[0]->kind != KnownKind::boolean) return corrupt("its inputs are no booleans");
  return fold_comparison<compare>(node);
}

Result<KnownTensor> fold_not(const FoldNode& node) {
  KnownTensor result = *node.inputs[0];
  if (result.kind != KnownKind::boolean) return corrupt("its input is no boolean");
  for (KnownElement& element : result.elements) element = boolean(element.whole.least == 0);
  return result;
}

Result<KnownTensor> fold_neg(const FoldNode& node) {
  const KnownTensor& from = *node.inputs[0];
  const KnownTensor zero{from.kind, {}, {KnownElement{}}};
  return computed(subtraction, zero, from);
}

Result<KnownTensor> fold_sqrt(const FoldNode& node) {
  KnownTensor result = *node.inputs[0];
  if (result.kind != KnownKind::real) return corrupt("its input is no real");
  for (KnownElement& element : result.elements) element.real = std::sqrt(element.real);
  return result;
}

Result<KnownTensor> fold_mod(const FoldNode& node) {
  const Result<std::int64_t> like_c = node.attributes.integer("fmod", 0);
  if (!like_c) return like_c.error();
  const KnownTensor& a = *node.inputs[0];
  if (a.kind != KnownKind::integer) return unsupported("has inputs that are no integers");
  return by_element(a, *node.inputs[1], a.kind,
                    [&](const KnownElement& left, const KnownElement& right) -> Result<KnownElement> {
                      const std::optional<Number> rest = remainder(left.whole, right.whole, *like_c != 0);
                      return rest ? Result<KnownElement>(KnownElement{*rest, 0}) : undecided(left.whole, right.whole);
                    });
}

// Reduces all axes, as a node without axes does unless it says that it then does nothing.
template <const Arithmetic& arithmetic>
Result<KnownTensor> fold_reduction(const FoldNode& node) {
  const KnownTensor& from = *node.inputs[0];
  const Result<std::int64_t> keeps = node.attributes.integer("keepdims", 1);
  if (!keeps) return keeps.error();
  const Result<std::vector<std::int64_t>> axes = node.integers(1, "axes");
  if (!axes) return axes.error();
  const Result<std::int64_t> stays = node.attributes.integer("noop_with_empty_axes", 0);
  if (!stays) return stays.error();
  if (axes->empty() && *stays != 0) return from;
  const bool all = axes->empty() || (from.dims.size() == 1 && *axes == std::vector<std::int64_t>{0});
  if (!all) return unsupported("reduces some axes; only all of them are supported");
  if (from.elements.empty()) return unsupported("reduces nothing");
  KnownTensor result{from.kind, std::vector<std::int64_t>(*keeps != 0 ? from.dims.size() : 0, 1), {from.elements[0]}};
  for (const KnownElement& element : from.elements) {
    const Result<KnownElement> next = computed(arithmetic, from.kind, result.elements[0], element);
    if (!next) return next.error();
    result.elements[0] = *next;
  }
  return result;
}

Result<KnownTensor> fold_where(const FoldNode& node) {
  const KnownTensor& condition = *node.inputs[0];
  const KnownTensor& a = *node.inputs[1];
  const KnownTensor& b = *node.inputs[2];
  if (condition.kind != KnownKind::boolean || a.kind != b.kind) return corrupt("its inputs are of wrong types");
  Result<std::vector<std::int64_t>> dims = broadcast(a.dims, b.dims);
  if (dims) dims = broadcast(*dims, condition.dims);
  if (!dims) return dims.error();
  const Result<KnownTensor> choice = expanded(condition, *dims);
  if (!choice) return choice;
  Result<KnownTensor> result = expanded(a, *dims);
  const Result<KnownTensor> other = expanded(b, *dims);
  if (!result || !other) return result ? other : result;
  for (std::size_t i = 0; i < result->elements.size(); ++i) {
    if (choice->elements[i].whole.least == 0) result->elements[i] = other->elements[i];
  }
  return result;
}

Result<KnownElement> to_integer(KnownKind from, const KnownElement& element, std::int64_t most) {
  KnownElement result{element.whole, 0};
  if (from == KnownKind::real) {
    constexpr float limit = 9.0e18F;
    if (!(std::fabs(element.real) < limit)) return unsupported("makes an integer of " + std::to_string(element.real));
    result.whole = {static_cast<std::int64_t>(element.real), {}};
  }
  const bool fits = result.whole.least <= most && result.whole.least >= -most - 1;
  if (fits) return result;
  return unsupported("makes an integer of 32 bits of " + to_string(result.whole));
}

Result<KnownElement> to_boolean(KnownKind from, const KnownElement& element) {
  if (from == KnownKind::real) return boolean(element.real != 0);
  const std::optional<bool> zero = is_equal(element.whole, {});
  return zero ? Result<KnownElement>(boolean(!*zero)) : undecided(element.whole, {});
}

Result<KnownElement> to_real(KnownKind from, const KnownElement& element) {
  if (from == KnownKind::real) return element;
  if (is_constant(element.whole)) return KnownElement{{}, static_cast<float>(element.whole.least)};
  return unsupported("makes a real of " + to_string(element.whole) + "; only constants are supported");
}

Result<KnownTensor> fold_cast(const FoldNode& node) {
  const KnownTensor& from = *node.inputs[0];
  const Result<std::int64_t> to = node.attributes.integer("to", 0);
  if (!to) return to.error();
  const bool narrow = *to == onnx::TensorProto::INT32;
  const bool whole = narrow || *to == onnx::TensorProto::INT64;
  if (!whole && *to != onnx::TensorProto::BOOL && *to != onnx::TensorProto::FLOAT) {
    return unsupported("casts to type number " + std::to_string(*to) + "; INT32, INT64, BOOL and FLOAT are supported");
  }
  const std::int64_t most = narrow ? std::numeric_limits<std::int32_t>::max() : saturated;
  KnownTensor result{KnownKind::real, from.dims, {}};
  if (whole) result.kind = KnownKind::integer;
  if (*to == onnx::TensorProto::BOOL) result.kind = KnownKind::boolean;
  for (const KnownElement& element : from.elements) {
    const Result<KnownElement> made = whole                               ? to_integer(from.kind, element, most)
                                      : result.kind == KnownKind::boolean ? to_boolean(from.kind, element)
                                                                          : to_real(from.kind, element);
    if (!made) return made.error();
    result.elements.push_back(*made);
  }
  return result;
}

constexpr std::array<Names, 2> cast = {"saturate", "to"};
constexpr std::array<Names, 1> modulo = {"fmod"};
constexpr std::array<Names, 3> reduction = {"axes", "keepdims", "noop_with_empty_axes"};
constexpr int many = 1024;

constexpr std::array<FoldRow, 21> rows = {{
    {"Add", 2, 2, {}, fold_arithmetic<addition>},
    {"And", 2, 2, {}, fold_logic<both>},
    {"Cast", 1, 1, cast, fold_cast},
    {"Div", 2, 2, {}, fold_arithmetic<division>},
    {"Equal", 2, 2, {}, fold_comparison<is_equal>},
    {"Greater", 2, 2, {}, fold_comparison<is_greater>},
    {"GreaterOrEqual", 2, 2, {}, fold_comparison<is_at_least>},
    {"Less", 2, 2, {}, fold_comparison<is_less>},
    {"LessOrEqual", 2, 2, {}, fold_comparison<is_at_most>},
    {"Max", 1, many, {}, fold_arithmetic<maximum>},
    {"Min", 1, many, {}, fold_arithmetic<minimum>},
    {"Mod", 2, 2, modulo, fold_mod},
    {"Mul", 2, 2, {}, fold_arithmetic<multiplication>},
    {"Neg", 1, 1, {}, fold_neg},
    {"Not", 1, 1, {}, fold_not},
    {"Or", 2, 2, {}, fold_logic<either>},
    {"ReduceMax", 1, 2, reduction, fold_reduction<maximum>},
    {"ReduceMin", 1, 2, reduction, fold_reduction<minimum>},
    {"Sqrt", 1, 1, {}, fold_sqrt},
    {"Sub", 2, 2, {}, fold_arithmetic<subtraction>},
    {"Where", 3, 3, {}, fold_where},
}};

}  // namespace

std::span<const FoldRow> arithmetic_folds() { return rows; }

}  // namespace znni
