// Scales and shifts of channels: the problem and its rules.
#pragma once

#include "primitives/core/problems/bounds.hpp"
#include "primitives/core/problems/hash.hpp"
#include "primitives/core/problems/rules.hpp"

namespace znni {

// out = scale[i] * in + shift[i] for channel i: a batch normalisation that could not be folded.
struct ScaleShiftProblem {
  Shape5 in;
  constexpr auto operator<=>(const ScaleShiftProblem&) const = default;
};

template <>
struct ProblemRules<ScaleShiftProblem> : RulesOfOneInput<ScaleShiftProblem> {
  static bool has_scale(const ScaleShiftProblem&) { return true; }

  static std::string text(const ScaleShiftProblem& p) { return "scale and shift " + to_string(p.in); }

  static std::optional<ScaleShiftProblem> parse(TextPieces pieces) {
    if (!pieces.take("scale and shift ")) return std::nullopt;
    const std::optional<Shape5> in = pieces.shape();
    if (!in || !pieces.is_empty()) return std::nullopt;
    return ScaleShiftProblem{*in};
  }

  static std::size_t hash(const ScaleShiftProblem& p) { return hashed(0, p.in); }
};

}  // namespace znni
