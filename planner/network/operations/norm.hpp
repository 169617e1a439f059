// Rules of instance and group normalisations.
#pragma once

#include "planner/network/operations/bounds.hpp"
#include "planner/network/operations/rules.hpp"
#include "planner/network/operations/texts.hpp"

namespace znni {

template <>
struct OperationRules<Norm> : RulesOfOneVoxel<Norm> {
  static OperationTraits traits(const Norm&) {
    return {"norm", "normalisation", Origin::other, false, std::nullopt, {"normalise", "normalises over"}};
  }

  static Result<void> check(const Norm& norm, int) {
    if (norm.groups < 1) return invalid_operation("groups = " + std::to_string(norm.groups) + " is below 1");
    if (Result<void> sound = check_norm_epsilon(norm.epsilon); !sound) return sound;
    return check_activation(norm.activation);
  }

  static Result<void> check_meeting(const Norm& norm, std::span<const InputValue> inputs) {
    const std::int64_t f = inputs.front().channels;
    if (f % norm.groups == 0) return {};
    return invalid_operation("normalises " + std::to_string(f) + " channels in " + std::to_string(norm.groups) +
                             " groups, which does not divide");
  }

  static WeightSizes weights(const Norm&, std::int64_t f) { return {0, 0, f, f}; }
  static Activation* fused(Norm& norm) { return &norm.activation; }

  static NormProblem problem(const Norm& norm, const NodeInputs& in) {
    return {in.shapes.front(), norm.groups, norm.epsilon, norm.activation, norm.kind};
  }

  static std::string text(const Norm& norm, std::int64_t f, bool) {
    const std::string name = norm.kind == NormKind::response ? "response norm " : "norm ";
    return name + std::to_string(f) + ", groups " + std::to_string(norm.groups) + epsilon_text(norm.epsilon) +
           activation_text(norm.activation);
  }
};

}  // namespace znni
