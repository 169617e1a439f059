// The voxels of max-pooling fragments at their places in the dense output of a patch, and back.
#pragma once

#include <span>

#include "planner/geometry/geometry.hpp"
#include "primitives/core/executor.hpp"
#include "primitives/core/tensor.hpp"

namespace znni {

// Writes dense[f][patch_output], all of it, from the planar fragments of the only pass of a geometry with S = 1.
void put_together(const Geometry& geometry, const TensorView& fragments, std::span<float> dense, Executor& executor);

// Writes the planar fragments, all of them, from dense[f][patch_output]: the inverse.
void take_apart(const Geometry& geometry, std::span<const float> dense, const TensorView& fragments,
                Executor& executor);

}  // namespace znni
