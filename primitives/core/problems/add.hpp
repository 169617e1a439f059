// Sums of tensors: the problem and its rules.
#pragma once

#include "primitives/core/problems/bounds.hpp"
#include "primitives/core/problems/hash.hpp"
#include "primitives/core/problems/rules.hpp"

namespace znni {

// out = activation(sum of `inputs` tensors of shape `in`).
struct AddProblem {
  Shape5 in;
  int inputs = 2;
  Activation activation;
  constexpr auto operator<=>(const AddProblem&) const = default;
};

template <>
struct ProblemRules<AddProblem> : RulesOfOneInput<AddProblem> {
  static int input_count(const AddProblem& sum) { return sum.inputs; }

  static Result<void> check(const AddProblem& sum) {
    if (Result<void> sound = check_shape(sum.in); !sound) return sound;
    if (sum.inputs < 2) return invalid_problem("an addition needs two inputs or more");
    return {};
  }

  static double flops(const AddProblem& sum) { return static_cast<double>(elements(sum.in)) * (sum.inputs - 1); }

  static std::string text(const AddProblem& p) {
    return "add " + std::to_string(p.inputs) + " of " + to_string(p.in) + activation_text(p.activation);
  }

  static std::optional<AddProblem> parse(TextPieces pieces) {
    if (!pieces.take("add ")) return std::nullopt;
    const std::optional<int> inputs = pieces.number<int>();
    if (!inputs || !pieces.take(" of ")) return std::nullopt;
    const std::optional<Shape5> in = pieces.shape();
    if (!in) return std::nullopt;
    const std::optional<Activation> fused = pieces.activation();
    if (!fused || !pieces.is_empty()) return std::nullopt;
    return AddProblem{*in, *inputs, *fused};
  }

  static std::size_t hash(const AddProblem& p) {
    return hashed(hashed(hashed(0, p.in), std::int64_t{p.inputs}), p.activation);
  }
};

}  // namespace znni
