// Rectifiers with a slope for each channel: the problem and its rules.
#pragma once

#include "primitives/core/problems/bounds.hpp"
#include "primitives/core/problems/hash.hpp"
#include "primitives/core/problems/rules.hpp"

namespace znni {

// out = in where that is above 0, else scale[i] * in for channel i: its slope below 0. There is no shift.
struct PReluProblem {
  Shape5 in;
  constexpr auto operator<=>(const PReluProblem&) const = default;
};

template <>
struct ProblemRules<PReluProblem> : RulesOfOneInput<PReluProblem> {
  static bool has_scale(const PReluProblem&) { return true; }

  static std::string text(const PReluProblem& p) { return "prelu " + to_string(p.in); }

  static std::optional<PReluProblem> parse(TextPieces pieces) {
    if (!pieces.take("prelu ")) return std::nullopt;
    const std::optional<Shape5> in = pieces.shape();
    if (!in || !pieces.is_empty()) return std::nullopt;
    return PReluProblem{*in};
  }

  static std::size_t hash(const PReluProblem& p) { return hashed(0, p.in); }
};

}  // namespace znni
