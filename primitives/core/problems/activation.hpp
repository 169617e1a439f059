// Activations: the problem and its rules.
#pragma once

#include "primitives/core/problems/bounds.hpp"
#include "primitives/core/problems/hash.hpp"
#include "primitives/core/problems/rules.hpp"

namespace znni {

// out = activation(in), element by element.
struct ActivationProblem {
  Shape5 in;
  Activation activation;
  constexpr auto operator<=>(const ActivationProblem&) const = default;
};

template <>
struct ProblemRules<ActivationProblem> : RulesOfOneInput<ActivationProblem> {
  static std::string text(const ActivationProblem& p) {
    return "activation " + to_string(p.in) + activation_text(p.activation);
  }

  static std::optional<ActivationProblem> parse(TextPieces pieces) {
    if (!pieces.take("activation ")) return std::nullopt;
    const std::optional<Shape5> in = pieces.shape();
    if (!in) return std::nullopt;
    const std::optional<Activation> kind = pieces.activation();
    if (!kind || !pieces.is_empty()) return std::nullopt;
    return ActivationProblem{*in, *kind};
  }

  static std::size_t hash(const ActivationProblem& p) { return hashed(hashed(0, p.in), p.activation); }
};

}  // namespace znni
