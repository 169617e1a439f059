#include "primitives/core/precision.hpp"

#include <algorithm>

namespace znni {

std::string_view to_string(Precision precision) {
  static constexpr std::array<std::string_view, precisions> names = {"fp32", "tf32", "bf16"};
  return names[static_cast<std::size_t>(precision)];
}

std::optional<Precision> parse_precision(std::string_view text) {
  for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::bf16}) {
    if (to_string(precision) == text) return precision;
  }
  return std::nullopt;
}

Precision precision_of(const Variant& variant, Format in, Format out) {
  if (in.type != ElementType::f32 || out.type != ElementType::f32) return Precision::bf16;
  if (setting(variant, "bf16", 0) != 0) return Precision::bf16;
  return setting(variant, "tf32", 0) == 0 ? Precision::fp32 : Precision::tf32;
}

std::span<const Format> edge_formats(Precision precision) {
  return std::span(all_edge_formats).first(static_cast<std::size_t>(precision) + 1);
}

std::optional<Precision> precision_of(Format edge) {
  const auto* const found = std::find(all_edge_formats.begin(), all_edge_formats.end(), edge);
  if (found == all_edge_formats.end()) return std::nullopt;
  return static_cast<Precision>(found - all_edge_formats.begin());
}

}  // namespace znni
