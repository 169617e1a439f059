// Poolings of all voxels: the problem and its rules.
#pragma once

#include "primitives/core/problems/bounds.hpp"
#include "primitives/core/problems/hash.hpp"
#include "primitives/core/problems/pool.hpp"
#include "primitives/core/problems/rules.hpp"

namespace znni {

// The largest or the mean of all voxels of each channel of each input, at every voxel:
//   out[s][i][v] = pool of in[s][i].
struct GlobalPoolProblem {
  Shape5 in;
  PoolKind kind = PoolKind::average;
  constexpr auto operator<=>(const GlobalPoolProblem&) const = default;
};

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
