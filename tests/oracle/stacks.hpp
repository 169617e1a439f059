// Stacks in float64: one stage after the other, whole.
#pragma once

#include <span>

#include "tests/oracle/oracle.hpp"

namespace znni::oracle {

// Returns the output of a stack whose inputs lie as PreparedLayer::place() says. Without starts every voxel is inside.
[[nodiscard]] Values stacked(const StackProblem& stack, const Values& in, const LayerWeights& weights,
                             std::span<const Vec3> starts = {}, Vec3 whole = {});

}  // namespace znni::oracle
