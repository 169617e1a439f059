// Hashes of what problems are made of.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "primitives/core/activation.hpp"
#include "primitives/core/shape.hpp"
#include "primitives/core/tensor.hpp"

namespace znni {

// Returns `seed` with `value` mixed in; the order matters.
[[nodiscard]] constexpr std::size_t mixed(std::size_t seed, std::size_t value) {
  std::size_t mix = (seed ^ value) * std::size_t{0x9e3779b97f4a7c15};  // 2^64 over the golden ratio: spreads every bit
  mix ^= mix >> 32U;
  return mix;
}

[[nodiscard]] constexpr std::size_t hashed(std::size_t seed, std::int64_t value) {
  return mixed(seed, static_cast<std::size_t>(value));
}
[[nodiscard]] constexpr std::size_t hashed(std::size_t seed, Vec3 v) {
  return hashed(hashed(hashed(seed, v.z), v.y), v.x);
}
[[nodiscard]] constexpr std::size_t hashed(std::size_t seed, const Shape5& shape) {
  return hashed(hashed(hashed(seed, shape.S), shape.f), shape.n);
}
[[nodiscard]] constexpr std::size_t hashed(std::size_t seed, Format format) {
  return hashed(hashed(seed, static_cast<std::int64_t>(format.type)), static_cast<std::int64_t>(format.layout));
}
[[nodiscard]] constexpr std::size_t hashed(std::size_t seed, float value) {
  return hashed(seed, static_cast<std::int64_t>(std::bit_cast<std::int32_t>(value)));
}
// Returns a hash, the same for +0 and -0.
[[nodiscard]] constexpr std::size_t hashed(std::size_t seed, Activation activation) {
  const float alpha = activation.alpha == 0 ? 0 : activation.alpha;
  return hashed(hashed(seed, static_cast<std::int64_t>(activation.kind)), alpha);
}

}  // namespace znni
