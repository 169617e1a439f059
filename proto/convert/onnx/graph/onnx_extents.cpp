#include "proto/convert/onnx/graph/onnx_extents.hpp"

#include <limits>

#include "planner/network/reading.hpp"

namespace znni {
namespace {

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t largest_extent = std::int64_t{1} << 40;  // far beyond any volume

// Applies a checked operation of 64 bits to the number and to each of its steps.
template <class Apply>
std::optional<VolumeNumber> by_part(Apply apply) {
  VolumeNumber result;
  bool fits = apply([](const VolumeNumber& number) { return number.least; }, result.least);
  for (int axis = 0; axis < 3; ++axis) {
    fits = fits && apply([axis](const VolumeNumber& number) { return number.step[axis]; }, result.step[axis]);
  }
  return fits ? std::optional(result) : std::nullopt;
}

std::optional<VolumeNumber> times(const VolumeNumber& a, std::int64_t factor) {
  return by_part([&](auto part, std::int64_t& to) { return !__builtin_mul_overflow(part(a), factor, &to); });
}

bool divides_steps(std::int64_t divisor, const VolumeNumber& a) {
  return a.step.z % divisor == 0 && a.step.y % divisor == 0 && a.step.x % divisor == 0;
}

}  // namespace

ExtentAfter extents_after(const Operation& operation, const Border& pads, const VolumeExtents& in) {
  const Reading reading = reading_of(operation);
  ExtentAfter after;
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t n = in.least[axis] + pads.begin[axis] + pads.end[axis];
    const std::int64_t stride = reading.stride[axis];
    const bool known = in.least[axis] > 0 && n >= reading.window[axis] && in.step[axis] % stride == 0;
    if (!known) continue;
    const std::int64_t last = n - reading.window[axis];
    const std::int64_t least = mul(last / stride + 1, reading.factor[axis]);
    const std::int64_t step = mul(in.step[axis] / stride, reading.factor[axis]);
    after.rest[axis] = last % stride;
    if (least > largest_extent || step > largest_extent) continue;
    after.extents.least[axis] = least;
    after.extents.step[axis] = step;
  }
  return after;
}

std::optional<VolumeNumber> extent_along(const VolumeExtents& extents, int axis) {
  if (extents.least[axis] < 1) return std::nullopt;
  VolumeNumber number{extents.least[axis], {}};
  number.step[axis] = extents.step[axis];
  return number;
}

bool is_constant(const VolumeNumber& number) { return number.step == Vec3{}; }
bool is_never_negative(const VolumeNumber& number) { return number.least >= 0 && covers(number.step, {}); }
bool is_always_negative(const VolumeNumber& number) { return number.least < 0 && covers({}, number.step); }

std::optional<VolumeNumber> sum(const VolumeNumber& a, const VolumeNumber& b) {
  return by_part([&](auto part, std::int64_t& to) { return !__builtin_add_overflow(part(a), part(b), &to); });
}

std::optional<VolumeNumber> difference(const VolumeNumber& a, const VolumeNumber& b) {
  return by_part([&](auto part, std::int64_t& to) { return !__builtin_sub_overflow(part(a), part(b), &to); });
}

std::optional<VolumeNumber> product(const VolumeNumber& a, const VolumeNumber& b) {
  if (is_constant(b)) return times(a, b.least);
  return is_constant(a) ? times(b, a.least) : std::nullopt;
}

std::optional<VolumeNumber> quotient(const VolumeNumber& a, const VolumeNumber& b) {
  if (!is_constant(b) || b.least == 0 || b.least == lowest) return std::nullopt;
  if (b.least < 0) {
    const std::optional<VolumeNumber> negated = times(a, -1);
    return negated ? quotient(*negated, {-b.least, {}}) : std::nullopt;
  }
  // The remainder of the division by b is the same for all volumes; rounding goes down above 0 and up below.
  const bool one_sign = is_constant(a) || is_never_negative(a) || is_always_negative(a);
  if (!divides_steps(b.least, a) || !(one_sign || a.least % b.least == 0)) return std::nullopt;
  const Vec3 by = Vec3::cube(b.least);
  return VolumeNumber{a.least / b.least, a.step / by};
}

std::optional<VolumeNumber> remainder(const VolumeNumber& a, const VolumeNumber& b, bool like_c) {
  if (b.least == -1 && is_constant(b)) return VolumeNumber{};
  if (!is_constant(b) || b.least == 0 || b.least == lowest) return std::nullopt;
  if (!divides_steps(b.least, a)) return std::nullopt;
  const std::int64_t rest = a.least % b.least;
  const bool other_sign = rest != 0 && (rest < 0) != (b.least < 0);
  if (!like_c) return VolumeNumber{other_sign ? rest + b.least : rest, {}};
  const bool one_sign = is_constant(a) || is_never_negative(a) || is_always_negative(a);
  return one_sign || rest == 0 ? std::optional(VolumeNumber{rest, {}}) : std::nullopt;
}

std::optional<bool> is_less(const VolumeNumber& a, const VolumeNumber& b) {
  const std::optional<VolumeNumber> more = difference(a, b);
  if (!more) return is_constant(a) && is_constant(b) ? std::optional(a.least < b.least) : std::nullopt;
  if (is_always_negative(*more)) return true;
  return is_never_negative(*more) ? std::optional(false) : std::nullopt;
}

std::optional<bool> is_equal(const VolumeNumber& a, const VolumeNumber& b) {
  if (a == b) return true;
  const std::optional<bool> less = is_less(a, b);
  const std::optional<bool> more = is_less(b, a);
  if ((less && *less) || (more && *more)) return false;
  return std::nullopt;
}

std::optional<double> ratio(const VolumeNumber& a, const VolumeNumber& b) {
  for (int axis = 0; axis < 3; ++axis) {
    std::int64_t of_a = 0;
    std::int64_t of_b = 0;
    const bool fits =
        !__builtin_mul_overflow(a.step[axis], b.least, &of_a) && !__builtin_mul_overflow(b.step[axis], a.least, &of_b);
    if (!fits || of_a != of_b) return std::nullopt;
  }
  return static_cast<double>(a.least) / static_cast<double>(b.least);
}

std::string to_string(const VolumeNumber& number) {
  return is_constant(number) ? std::to_string(number.least) : "a number that depends on the volume";
}

}  // namespace znni
