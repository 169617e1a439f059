// Activations and sums over runs of voxels, in place, for fused and stand-alone primitives.
#pragma once

#include <cstdint>
#include <span>

#include "primitives/core/problem.hpp"

namespace znni::cpu {

// Computes values[i] = activation(values[i]), as activation.hpp defines it, to a few units in the last place
// (vector_activations.hpp).
void activate(Activation activation, std::span<float> values);

// Computes values[i] = e^values[i] for values <= 0, with the same accuracy.
void exponentiate(std::span<float> values);

// Computes to[i] += from[i].
void accumulate(std::span<const float> from, std::span<float> to);

// Zeros lanes [first, width) of every voxel of a blocked run: its padding channels. `values` holds whole voxels of
// `width` lanes.
void clear_lanes(std::span<float> values, std::int64_t first, std::int64_t width);

}  // namespace znni::cpu
