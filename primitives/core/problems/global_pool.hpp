// Rules of poolings of all voxels.
#pragma once

#include "primitives/core/problems/bounds.hpp"
#include "primitives/core/problems/hash.hpp"
#include "primitives/core/problems/rules.hpp"

namespace znni {

template <>
struct ProblemRules<GlobalPoolProblem> : RulesOfOneInput<GlobalPoolProblem> {
  static std::string text(const GlobalPoolProblem& pool) {
    return (pool.kind == PoolKind::max ? "global max " : "global mean ") + to_string(pool.in);
  }

  static std::optional<GlobalPoolProblem> parse(TextPieces pieces) {
    const bool is_max = pieces.take("global max ");
    if (!is_max && !pieces.take("global mean ")) return std::nullopt;
    const std::optional<Shape5> in = pieces.shape();
    if (!in || !pieces.is_empty()) return std::nullopt;
    return GlobalPoolProblem{*in, is_max ? PoolKind::max : PoolKind::average};
  }

  static std::size_t hash(const GlobalPoolProblem& p) {
    return hashed(hashed(0, p.in), static_cast<std::int64_t>(p.kind));
  }
};

}  // namespace znni
