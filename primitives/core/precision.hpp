// How coarsely the numbers of a layer may be rounded on purpose, beside what float32 itself rounds.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "primitives/core/primitive.hpp"

namespace znni {

// From strict to coarse; each allows those before it. fp32: float32 throughout. tf32: products of numbers with 10 bits
// of mantissa, all else in float32. bf16: tensors and weights with 7 bits of mantissa, sums in float32.
enum class Precision { fp32, tf32, bf16 };
inline constexpr int precisions = 3;

[[nodiscard]] std::string_view to_string(Precision precision);
// "fp32", "tf32", "bf16"; nothing for other words.
[[nodiscard]] std::optional<Precision> parse_precision(std::string_view text);

// Of a layer that reads and writes these formats: bf16 where elements have fewer bits than float32; tf32 where its
// products have, which setting `tf32` of GPUs' primitives says.
[[nodiscard]] Precision precision_of(const Variant& variant, Format in, Format out);

// Formats of tensors between layers on a GPU, one more with each precision: strict float32 runs planar; matrix units
// want channels last, in float32, whose products are then TF32, and in bf16.
inline constexpr Format planar_f32{ElementType::f32, Layout::planar};
inline constexpr Format last_f32{ElementType::f32, Layout::channels_last};
inline constexpr Format last_bf16{ElementType::bf16, Layout::channels_last};
inline constexpr std::array<Format, precisions> all_edge_formats = {planar_f32, last_f32, last_bf16};

// Those that plans of a precision may have, planar first.
[[nodiscard]] std::span<const Format> edge_formats(Precision precision);
// The strictest precision whose plans may have the format; nothing for formats of other devices.
[[nodiscard]] std::optional<Precision> precision_of(Format edge);

}  // namespace znni
