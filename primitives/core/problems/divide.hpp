// Quotients of two tensors: the problem and its rules.
#pragma once

#include "primitives/core/problems/bounds.hpp"
#include "primitives/core/problems/hash.hpp"
#include "primitives/core/problems/rules.hpp"

namespace znni {

// out[s][i][v] = in[s][i][v] / other[s][i][v]. A second input of one channel divides every channel. What is divided by
// 0 is infinite, or NaN, as IEEE 754 says.
struct DivideProblem {
  Shape5 in;
  std::int64_t f_other = 1;  // in.f or 1
  constexpr auto operator<=>(const DivideProblem&) const = default;
};

template <>
struct ProblemRules<DivideProblem> : RulesOfOneInput<DivideProblem> {
  static int input_count(const DivideProblem&) { return 2; }
  static Shape5 input(const DivideProblem& quotient, int index) {
    return {quotient.in.S, index == 0 ? quotient.in.f : quotient.f_other, quotient.in.n};
  }

  static Result<void> check(const DivideProblem& quotient) {
    if (Result<void> sound = check_shape(quotient.in); !sound) return sound;
    if (quotient.f_other == 1 || quotient.f_other == quotient.in.f) return {};
    return invalid_problem("divides " + std::to_string(quotient.in.f) + " channels by " +
                           std::to_string(quotient.f_other) + "; as many, or 1, are right");
  }

  static std::string text(const DivideProblem& p) {
    return "divide " + to_string(p.in) + " by " + std::to_string(p.f_other) + " channels";
  }

  static std::optional<DivideProblem> parse(TextPieces pieces) {
    if (!pieces.take("divide ")) return std::nullopt;
    const std::optional<Shape5> in = pieces.shape();
    if (!in || !pieces.take(" by ")) return std::nullopt;
    const std::optional<std::int64_t> f_other = pieces.number<std::int64_t>();
    if (!f_other || !pieces.take(" channels") || !pieces.is_empty()) return std::nullopt;
    return DivideProblem{*in, *f_other};
  }

  static std::size_t hash(const DivideProblem& p) { return hashed(hashed(0, p.in), p.f_other); }
};

}  // namespace znni
