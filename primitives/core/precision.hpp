// How coarsely the numbers of a layer may be rounded on purpose, beside what float32 itself rounds.
#pragma once

#include <optional>
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

}  // namespace znni
