// Rules of sums of tensors.
#pragma once

#include "planner/network/operations/bounds.hpp"
#include "planner/network/operations/rules.hpp"
#include "planner/network/operations/texts.hpp"

namespace znni {

template <>
struct OperationRules<Add> : RulesOfOneVoxel<Add> {
  static constexpr InputCounts inputs = two_or_more;

  static OperationTraits traits(const Add&) { return {"add", "addition", Origin::other, false, std::nullopt, {}}; }

  static Result<void> check(const Add& sum, int) { return check_activation(sum.activation); }

  static Result<void> check_meeting(const Add&, std::span<const InputValue> inputs) {
    const InputValue& first = inputs.front();
    for (const InputValue& other : inputs) {
      if (Result<void> meet = check_reaches_meet(first, other); !meet) return meet;
      if (first.channels == other.channels) continue;
      return invalid_operation("adds " + std::to_string(first.channels) + " channels of " + first.name + " to " +
                               std::to_string(other.channels) + " of " + other.name);
    }
    return {};
  }

  static Activation* fused(Add& sum) { return &sum.activation; }

  static AddProblem problem(const Add& sum, const NodeInputs& in) {
    return {in.shapes.front(), static_cast<int>(in.shapes.size()), sum.activation};
  }

  static std::string text(const Add& sum, std::int64_t f, bool) {
    return "add " + std::to_string(f) + activation_text(sum.activation);
  }
};

}  // namespace znni
