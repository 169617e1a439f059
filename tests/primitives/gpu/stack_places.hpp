// Random places of the inputs of a stack in a volume.
#pragma once

#include "primitives/gpu/stack_view.hpp"
#include "tests/support/random.hpp"

namespace znni::cuda {

// Volumes are smaller than a piece, or up to twice as large. Pieces lie across their borders, within, and outside.
[[nodiscard]] inline StackStarts random_places(const StackProblem& stack, test::Random& random) {
  StackStarts placed;
  const Vec3 n = stack.in.n;
  for (int axis = 0; axis < 3; ++axis) {
    placed.whole[axis] = random.integer(1, n[axis] * (stack.closed[axis] == 1 ? 1 : 2));
  }
  for (std::int64_t s = 0; s < stack.in.S; ++s) {
    Vec3 start;
    for (int axis = 0; axis < 3; ++axis) {
      if (stack.closed[axis] == 0) start[axis] = random.integer(-n[axis] / 2 - 1, placed.whole[axis] - n[axis] / 2 + 1);
    }
    if (random.chance(0.1) && stack.closed.z == 0) start.z = placed.whole.z + 20;
    placed.starts.push_back(start);
  }
  return placed;
}

}  // namespace znni::cuda
