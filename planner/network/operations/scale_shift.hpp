// Rules of scales and shifts of channels.
#pragma once

#include "planner/network/operations/rules.hpp"

namespace znni {

template <>
struct OperationRules<ScaleShift> : RulesOfOneVoxel<ScaleShift> {
  static OperationTraits traits(const ScaleShift&) {
    return {"scale_shift", "scale and shift", Origin::affine, false, std::nullopt, {}};
  }
  static WeightSizes weights(const ScaleShift&, std::int64_t f) { return {0, 0, f, f}; }
  static ScaleShiftProblem problem(const ScaleShift&, const NodeInputs& in) { return {in.shapes.front()}; }

  static std::string text(const ScaleShift&, std::int64_t f, bool) { return "scale and shift " + std::to_string(f); }
};

}  // namespace znni
