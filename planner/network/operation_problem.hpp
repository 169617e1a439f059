// The problem of a node: its operation with the shapes that it reads.
#pragma once

#include <vector>

#include "planner/network/network.hpp"

namespace znni {

// The inputs of a node, and how a geometry computes it.
struct NodeInputs {
  const std::vector<Shape5>& shapes;  // one or more
  PoolMode mode = PoolMode::plain;    // of a dense pooling, as are its groups
  Vec3 groups = Vec3::cube(1);
  Vec3 fragments = Vec3::cube(1);   // of the first input
  Vec3 begin_axes = Vec3::cube(1);  // 1 along the axes along which a crop takes its begin away, else 0: in a stream
  Vec3 end_axes = Vec3::cube(1);    // those planes are gone already; likewise for the end
};

// Returns the problem of an operation. The result is not checked.
[[nodiscard]] LayerProblem problem_of(const Operation& operation, const NodeInputs& inputs);

}  // namespace znni
