// Rules of rectifiers with a slope for each channel.
#pragma once

#include "planner/network/operations/rules.hpp"

namespace znni {

template <>
struct OperationRules<PRelu> : RulesOfOneVoxel<PRelu> {
  static OperationTraits traits(const PRelu&) { return {"prelu", "PReLU", Origin::element, false, std::nullopt, {}}; }
  static WeightSizes weights(const PRelu&, std::int64_t f) { return {0, 0, f, 0}; }
  static PReluProblem problem(const PRelu&, const NodeInputs& in) { return {in.shapes.front()}; }
  static std::string text(const PRelu&, std::int64_t f, bool) { return "prelu " + std::to_string(f); }
};

}  // namespace znni
