// Activations and sums over runs of voxels, in place: what fused and stand-alone primitives share.
#pragma once

#include <cstdint>
#include <span>

#include "primitives/core/problem.hpp"

namespace znni::cpu {

// values[i] = activation(values[i]), as problem.hpp defines it, to a few units in the last place
// (vector_activations.hpp).
void activate(Activation activation, std::span<float> values);

// values[i] = e^values[i], of values that are not above 0; as exact.
void exponentiate(std::span<float> values);

// to[i] += from[i].
void accumulate(std::span<const float> from, std::span<float> to);

// Zeros lanes [first, width) of every voxel of a blocked run: its padding images. `values` holds whole
// voxels of `width` lanes.
void clear_lanes(std::span<float> values, std::int64_t first, std::int64_t width);

}  // namespace znni::cpu
