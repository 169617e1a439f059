// Rules of products of two tensors.
#pragma once

#include "planner/network/operations/bounds.hpp"
#include "planner/network/operations/rules.hpp"

namespace znni {

template <>
struct OperationRules<Multiply> : RulesOfOneVoxel<Multiply> {
  static constexpr InputCounts inputs = {2, 2, "2"};

  static OperationTraits traits(const Multiply&) {
    return {"multiply", "multiplication", Origin::other, false, std::nullopt, {}};
  }

  static Result<void> check_meeting(const Multiply&, std::span<const InputValue> inputs) {
    const InputValue& first = inputs.front();
    const InputValue& other = inputs.back();
    if (Result<void> meet = check_reaches_meet(first, other); !meet) return meet;
    if (first.channels == other.channels || other.channels == 1) return {};
    return invalid_operation("multiplies " + std::to_string(first.channels) + " channels of " + first.name + " by " +
                             std::to_string(other.channels) + " of " + other.name + "; as many, or 1, are right");
  }

  static MultiplyProblem problem(const Multiply&, const NodeInputs& in) {
    return {in.shapes.front(), in.shapes.back().f};
  }

  static std::string text(const Multiply&, std::int64_t f, bool) { return "multiply " + std::to_string(f); }
};

}  // namespace znni
