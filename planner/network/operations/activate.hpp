// Rules of activations.
#pragma once

#include "planner/network/operations/bounds.hpp"
#include "planner/network/operations/rules.hpp"
#include "planner/network/operations/texts.hpp"

namespace znni {

template <>
struct OperationRules<Activate> : RulesOfOneVoxel<Activate> {
  static OperationTraits traits(const Activate&) {
    return {"activation", "activation", Origin::element, false, std::nullopt, {}};
  }
  static Result<void> check(const Activate& activate, int) { return check_activation(activate.activation); }
  static ActivationProblem problem(const Activate& own, const NodeInputs& in) {
    return {in.shapes.front(), own.activation};
  }

  static std::string text(const Activate& activate, std::int64_t f, bool) {
    return "activation " + std::to_string(f) + activation_text(activate.activation);
  }
};

}  // namespace znni
