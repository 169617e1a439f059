// Products of two tensors: the problem and its rules.
#pragma once

#include "primitives/core/problems/bounds.hpp"
#include "primitives/core/problems/hash.hpp"
#include "primitives/core/problems/rules.hpp"

namespace znni {

// out[s][i][v] = in[s][i][v] * other[s][i][v]. A second input of one channel multiplies every channel.
struct MultiplyProblem {
  Shape5 in;
  std::int64_t f_other = 1;  // in.f or 1
  constexpr auto operator<=>(const MultiplyProblem&) const = default;
};

template <>
struct ProblemRules<MultiplyProblem> : RulesOfOneInput<MultiplyProblem> {
  static int input_count(const MultiplyProblem&) { return 2; }
  static Shape5 input(const MultiplyProblem& product, int index) {
    return {product.in.S, index == 0 ? product.in.f : product.f_other, product.in.n};
  }

  static Result<void> check(const MultiplyProblem& product) {
    if (Result<void> sound = check_shape(product.in); !sound) return sound;
    if (product.f_other == 1 || product.f_other == product.in.f) return {};
    return invalid_problem("multiplies " + std::to_string(product.in.f) + " channels by " +
                           std::to_string(product.f_other) + "; as many, or 1, are right");
  }

  static std::string text(const MultiplyProblem& p) {
    return "multiply " + to_string(p.in) + " by " + std::to_string(p.f_other) + " channels";
  }

  static std::optional<MultiplyProblem> parse(TextPieces pieces) {
    if (!pieces.take("multiply ")) return std::nullopt;
    const std::optional<Shape5> in = pieces.shape();
    if (!in || !pieces.take(" by ")) return std::nullopt;
    const std::optional<std::int64_t> f_other = pieces.number<std::int64_t>();
    if (!f_other || !pieces.take(" channels") || !pieces.is_empty()) return std::nullopt;
    return MultiplyProblem{*in, *f_other};
  }

  static std::size_t hash(const MultiplyProblem& p) { return hashed(hashed(0, p.in), p.f_other); }
};

}  // namespace znni
