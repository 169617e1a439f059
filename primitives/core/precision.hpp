// Precision to which a layer may round its numbers on purpose, beyond the rounding of float32 itself.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "primitives/core/primitive.hpp"

namespace znni {

// From strict to coarse; each also allows those before it. fp32: float32 throughout. tf32: products of numbers with 10
// bits of mantissa, everything else in float32. bf16: tensors and weights with 7 bits of mantissa, sums in float32.
enum class Precision { fp32, tf32, bf16 };
inline constexpr int precisions = 3;

[[nodiscard]] std::string_view to_string(Precision precision);
// Parses "fp32", "tf32" or "bf16"; returns nothing for other words.
[[nodiscard]] std::optional<Precision> parse_precision(std::string_view text);

// Returns the precision of a layer that reads and writes these formats. It is bf16 if an element type is not float32 or
// the setting `bf16` of CPU primitives is on; tf32 if the setting `tf32` of GPU primitives is on; otherwise fp32.
[[nodiscard]] Precision precision_of(const Variant& variant, Format in, Format out);
[[nodiscard]] inline Precision precision_of(const Estimate& estimate) {
  return precision_of(estimate.variant, estimate.in, estimate.out);
}

// Formats of tensors between layers on a GPU; each precision adds one. Strict float32 runs planar. Matrix units need
// channels last: in float32, with products in TF32, or in bf16.
inline constexpr Format planar_f32{ElementType::f32, Layout::planar};
inline constexpr Format last_f32{ElementType::f32, Layout::channels_last};
inline constexpr Format last_bf16{ElementType::bf16, Layout::channels_last};
inline constexpr std::array<Format, precisions> all_edge_formats = {planar_f32, last_f32, last_bf16};

// Returns the formats that plans of a precision may have, planar first.
[[nodiscard]] std::span<const Format> edge_formats(Precision precision);
// Returns the strictest precision whose plans may have the format; nothing for formats of other devices.
[[nodiscard]] std::optional<Precision> precision_of(Format edge);

}  // namespace znni
