// Extents and shapes. Axes are z, y, x everywhere, x contiguous. All sizes are int64. Products saturate: one that does
// not fit becomes the largest int64, which every budget refuses. No product ever wraps.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "primitives/core/result.hpp"

namespace znni {

inline constexpr std::int64_t saturated = std::numeric_limits<std::int64_t>::max();

// Return a * b and a + b for non-negative a, b; `saturated` if the result does not fit.
[[nodiscard]] constexpr std::int64_t mul(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? saturated : result;
}
[[nodiscard]] constexpr std::int64_t add(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  return __builtin_add_overflow(a, b, &result) ? saturated : result;
}

// Returns a / b rounded up, for a >= 0, b > 0.
[[nodiscard]] constexpr std::int64_t div_up(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }
[[nodiscard]] constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) { return mul(div_up(a, b), b); }

// An extent, position or step along the three axes.
struct Vec3 {
  std::int64_t z = 0;
  std::int64_t y = 0;
  std::int64_t x = 0;

  [[nodiscard]] static constexpr Vec3 cube(std::int64_t edge) { return {edge, edge, edge}; }

  // Returns the extent along an axis: 0 is z, 1 is y, 2 is x.
  [[nodiscard]] constexpr std::int64_t operator[](int axis) const { return axis == 0 ? z : axis == 1 ? y : x; }
  [[nodiscard]] constexpr std::int64_t& operator[](int axis) { return axis == 0 ? z : axis == 1 ? y : x; }

  constexpr auto operator<=>(const Vec3&) const = default;  // lexicographic: a total order for maps only
};

[[nodiscard]] constexpr Vec3 operator+(Vec3 a, Vec3 b) { return {a.z + b.z, a.y + b.y, a.x + b.x}; }
[[nodiscard]] constexpr Vec3 operator-(Vec3 a, Vec3 b) { return {a.z - b.z, a.y - b.y, a.x - b.x}; }
[[nodiscard]] constexpr Vec3 operator*(Vec3 a, Vec3 b) { return {mul(a.z, b.z), mul(a.y, b.y), mul(a.x, b.x)}; }
[[nodiscard]] constexpr Vec3 operator/(Vec3 a, Vec3 b) { return {a.z / b.z, a.y / b.y, a.x / b.x}; }
[[nodiscard]] constexpr Vec3 operator%(Vec3 a, Vec3 b) { return {a.z % b.z, a.y % b.y, a.x % b.x}; }
[[nodiscard]] constexpr Vec3 min(Vec3 a, Vec3 b) {
  return {a.z < b.z ? a.z : b.z, a.y < b.y ? a.y : b.y, a.x < b.x ? a.x : b.x};
}
[[nodiscard]] constexpr Vec3 max(Vec3 a, Vec3 b) {
  return {a.z > b.z ? a.z : b.z, a.y > b.y ? a.y : b.y, a.x > b.x ? a.x : b.x};
}
// Returns true if every component of a is at least that of b.
[[nodiscard]] constexpr bool covers(Vec3 a, Vec3 b) { return a.z >= b.z && a.y >= b.y && a.x >= b.x; }

// Returns the number of voxels in an extent; saturates.
[[nodiscard]] constexpr std::int64_t voxels(Vec3 n) { return mul(mul(n.z, n.y), n.x); }

// S x f x (n.z, n.y, n.x): S inputs (the batch, fragments included) of f channels, each of extent n.
struct Shape5 {
  std::int64_t S = 1;
  std::int64_t f = 1;
  Vec3 n;

  constexpr auto operator<=>(const Shape5&) const = default;
};

// Returns S * f * voxels; saturates.
[[nodiscard]] constexpr std::int64_t elements(const Shape5& shape) {
  return mul(mul(shape.S, shape.f), voxels(shape.n));
}

// Returns the extents of the effective (dilated) window: dilation * (k - 1) + 1.
[[nodiscard]] constexpr Vec3 dilated(Vec3 k, Vec3 dilation) { return dilation * (k - Vec3::cube(1)) + Vec3::cube(1); }

// Fails unless all extents are positive and there are fewer than 2^60 elements, so that bytes fit. The error names the
// shape and the failed condition.
[[nodiscard]] Result<void> check_shape(const Shape5& shape);

[[nodiscard]] std::string to_string(Vec3 n);               // "32x48x48"
[[nodiscard]] std::string to_string(const Shape5& shape);  // "1x80x32x48x48"
[[nodiscard]] std::string bytes_text(std::int64_t bytes);  // "1.50 GiB"

}  // namespace znni
