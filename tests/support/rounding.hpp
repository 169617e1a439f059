// Rounds numbers to fewer bits, as matrix units take them: with the kernels' own functions, or, where a library rounds
// (TF32), with a plain function. Also accesses voxels of views whose elements have fewer bits.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "primitives/core/precision.hpp"
#include "primitives/core/tensor.hpp"
#include "primitives/gpu/element.hpp"

namespace znni::test {

// Rounds to the nearest number with 7 bits of mantissa, ties to even; NaNs stay.
[[nodiscard]] inline float rounded_to_bf16(float value) { return cuda::widen(cuda::narrow(value, cuda::Bfloat())); }

// Does the same with 10 bits.
[[nodiscard]] inline float rounded_to_tf32(float value) {
  if (std::isnan(value)) return value;
  const std::uint32_t bits = cuda::bits_of(value);
  return cuda::float_of((bits + 0xfffU + ((bits >> 13U) & 1U)) & ~0x1fffU);
}

// Rounds a factor of a product.
[[nodiscard]] inline float rounded(float value, Precision precision) {
  if (precision == Precision::fp32) return value;
  return precision == Precision::tf32 ? rounded_to_tf32(value) : rounded_to_bf16(value);
}

// Returns the largest relative error of one rounding to nearest.
[[nodiscard]] constexpr double unit_of(Precision precision) {
  if (precision == Precision::fp32) return 0x1p-24;
  return precision == Precision::tf32 ? 0x1p-11 : 0x1p-8;
}

// Returns the address of a voxel of channel j of input s, in a view of float32 or bf16.
[[nodiscard]] inline std::byte* address_of(const TensorView& view, std::int64_t s, std::int64_t j, Vec3 at) {
  const auto& [S, f, z, y, x] = view.strides;
  const std::int64_t width = block_width(view.format.layout);
  const std::int64_t elements = s * S + j / width * f + j % width + at.z * z + at.y * y + at.x * x;
  return reinterpret_cast<std::byte*>(view.data) + elements * element_bytes(view.format.type);
}
[[nodiscard]] inline float get(const TensorView& view, std::int64_t s, std::int64_t j, Vec3 at) {
  if (view.format.type == ElementType::f32) return view.at(s, j, at);
  cuda::Bfloat element{};
  std::memcpy(&element, address_of(view, s, j, at), sizeof(element));
  return cuda::widen(element);
}
inline void set(const TensorView& view, std::int64_t s, std::int64_t j, Vec3 at, float value) {
  if (view.format.type == ElementType::f32) {
    view.at(s, j, at) = value;
    return;
  }
  const cuda::Bfloat element = cuda::narrow(value, cuda::Bfloat());
  std::memcpy(address_of(view, s, j, at), &element, sizeof(element));
}

}  // namespace znni::test
