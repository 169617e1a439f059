// Rules of stacks of poolings.
#pragma once

#include <vector>

#include "planner/network/operations/bounds.hpp"
#include "planner/network/operations/rules.hpp"
#include "planner/network/operations/texts.hpp"
#include "planner/network/swap_axes.hpp"

namespace znni {

template <>
struct OperationRules<Stack> : RulesOfOneVoxel<Stack> {
  static OperationTraits traits(const Stack&) {
    return {"pool", "stack of poolings", Origin::other, false, std::nullopt, {}};
  }

  static Reading reading(const Stack& stack) {
    Reading reading;
    for (const StackStage& stage : stack.stages) {
      reading.window = reading.window + stage.window - Vec3::cube(1);
      reading.padding.begin = reading.padding.begin + stage.before;
      reading.padding.end = reading.padding.end + stage.behind;
    }
    return reading;
  }

  static Result<void> check(const Stack& stack, int spatial_rank) {
    if (stack.stages.size() > max_stages) {
      return invalid_operation("has more than " + std::to_string(max_stages) + " stages");
    }
    for (const StackStage& stage : stack.stages) {
      if (Result<void> sound = check_positive("window", stage.window, spatial_rank); !sound) return sound;
      if (Result<void> sound = check_activation(stage.activation); !sound) return sound;
    }
    return znni::check(StackProblem{{1, 1, reading(stack).window}, stack.stages, {}});
  }

  static WeightSizes weights(const Stack& stack, std::int64_t f) {
    const std::int64_t count = mul(scaled_stages({{}, stack.stages, {}}), f);
    return {0, 0, count, count};
  }

  static void swap_own_axes(Stack& stack, int axis) {
    for (StackStage& stage : stack.stages) {
      stage.window = swap_axes(stage.window, axis);
      stage.before = swap_axes(stage.before, axis);
      stage.behind = swap_axes(stage.behind, axis);
    }
  }

  static StackProblem problem(const Stack& stack, const NodeInputs& in) {
    return {in.shapes.front(), stack.stages, Vec3::cube(1) - in.end_axes};
  }

  static std::string text(const Stack& stack, std::int64_t f, bool) {
    return "stack " + std::to_string(f) + ": " + stages_text(stack.stages);
  }
};

}  // namespace znni
