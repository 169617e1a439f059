// Rules of attention over all voxels.
#pragma once

#include <cmath>

#include "planner/network/operations/bounds.hpp"
#include "planner/network/operations/rules.hpp"

namespace znni {

template <>
struct OperationRules<Attention> : RulesOfOneVoxel<Attention> {
  static constexpr InputCounts inputs = {3, 3, "3"};

  static OperationTraits traits(const Attention&) {
    return {"attention", "attention", Origin::other, false, std::nullopt, {"attend to", "attends to"}};
  }

  static Result<void> check(const Attention& own, int) {
    if (own.heads < 1) return invalid_operation("heads = " + std::to_string(own.heads) + " is below 1");
    if (!std::isfinite(own.scale)) return invalid_operation("scale is not finite");
    return {};
  }

  static Result<void> check_meeting(const Attention& own, std::span<const InputValue> inputs) {
    if (Result<void> meet = RulesOfOneVoxel::check_meeting(own, inputs); !meet) return meet;
    if (inputs[0].channels != inputs[1].channels) {
      return invalid_operation("has " + std::to_string(inputs[0].channels) + " channels of queries, " + inputs[0].name +
                               ", and " + std::to_string(inputs[1].channels) + " of keys, " + inputs[1].name);
    }
    for (const InputValue& input : {inputs[0], inputs[2]}) {
      if (input.channels % own.heads == 0) continue;
      return invalid_operation("divides " + std::to_string(input.channels) + " channels among " +
                               std::to_string(own.heads) + " heads, which does not divide");
    }
    return {};
  }

  static std::int64_t channels(const Attention&, const std::vector<int>& read,
                               const std::vector<std::int64_t>& channels) {
    return channels[index(read.back())];
  }

  static AttentionProblem problem(const Attention& own, const NodeInputs& in) {
    return {in.shapes.front(), in.shapes.back().f, own.heads, own.scale};
  }

  static std::string text(const Attention& own, std::int64_t f, bool) {
    return "attention " + std::to_string(f) + ", heads " + std::to_string(own.heads);
  }
};

}  // namespace znni
