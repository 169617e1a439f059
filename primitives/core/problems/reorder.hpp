// Changes of format: the problem and its rules.
#pragma once

#include "primitives/core/problems/bounds.hpp"
#include "primitives/core/problems/hash.hpp"
#include "primitives/core/problems/rules.hpp"

namespace znni {

// The same tensor in another format.
struct ReorderProblem {
  Shape5 in;
  Format from;
  Format to;
  constexpr auto operator<=>(const ReorderProblem&) const = default;
};

template <>
struct ProblemRules<ReorderProblem> : RulesOfOneInput<ReorderProblem> {
  static std::string text(const ReorderProblem& p) {
    return "reorder " + to_string(p.in) + " from " + to_string(p.from) + " to " + to_string(p.to);
  }

  static std::optional<ReorderProblem> parse(TextPieces pieces) {
    if (!pieces.take("reorder ")) return std::nullopt;
    const std::optional<Shape5> in = pieces.shape();
    if (!in || !pieces.take(" from ")) return std::nullopt;
    const std::optional<Format> from = pieces.format();
    if (!from || !pieces.take(" to ")) return std::nullopt;
    const std::optional<Format> to = pieces.format();
    if (!to || !pieces.is_empty()) return std::nullopt;
    return ReorderProblem{*in, *from, *to};
  }

  static std::size_t hash(const ReorderProblem& p) { return hashed(hashed(hashed(0, p.in), p.from), p.to); }
};

}  // namespace znni
