// Rules of quotients of two tensors.
#pragma once

#include "planner/network/operations/bounds.hpp"
#include "planner/network/operations/rules.hpp"

namespace znni {

template <>
struct OperationRules<Divide> : RulesOfOneVoxel<Divide> {
  static constexpr InputCounts inputs = {2, 2, "2"};

  static OperationTraits traits(const Divide&) {
    return {"divide", "division", Origin::other, false, std::nullopt, {}};
  }

  static Result<void> check_meeting(const Divide&, std::span<const InputValue> inputs) {
    const InputValue& first = inputs.front();
    const InputValue& other = inputs.back();
    if (Result<void> meet = check_reaches_meet(first, other); !meet) return meet;
    if (first.channels == other.channels || other.channels == 1) return {};
    return invalid_operation("divides " + std::to_string(first.channels) + " channels of " + first.name + " by " +
                             std::to_string(other.channels) + " of " + other.name + "; as many, or 1, are right");
  }

  static DivideProblem problem(const Divide&, const NodeInputs& in) { return {in.shapes.front(), in.shapes.back().f}; }

  static std::string text(const Divide&, std::int64_t f, bool) { return "divide " + std::to_string(f); }
};

}  // namespace znni
