// Random tilings for the checks of kernels.
#pragma once

#include <algorithm>
#include <vector>

#include "primitives/cpu/fft_tiled/tile_kernels.hpp"
#include "tests/support/random.hpp"

namespace znni::cpu::fft_tiled {

// Returns case `index`; there are as many cases as extents, and along each axis every extent occurs in one of them.
inline Vec3 extents_of(std::size_t index) {
  const std::vector<std::int64_t>& extents = tile_extents();
  const auto at = [&](std::size_t i) { return extents[i % extents.size()]; };
  return {at(index), at(7 * index + 3), at(5 * index + 1)};
}

// Returns a tiling with one to three tiles per axis.
inline Tiling random_tiling(test::Random& random, const TileKernels& kernels, Vec3 T) {
  Tiling t;
  t.lanes = kernels.lanes;
  t.T = T;
  for (int axis = 0; axis < 3; ++axis) {
    t.problem.k[axis] = random.integer(1, std::min<std::int64_t>(T[axis], 7));
    t.problem.in.n[axis] = t.problem.k[axis] + random.integer(0, 3 * (T[axis] - t.problem.k[axis]) + 2);
  }
  t.problem.in.S = random.integer(1, 2);
  t.stacks_per_batch = random.integer(1, std::min<std::int64_t>(3, t.stacks()));
  return t;
}

// Returns a number of channels: if they are small, more blocks than are transformed at once; sometimes so few that
// stacks share a task.
inline std::int64_t random_channels(test::Random& random, const Tiling& t, std::int64_t voxels_of_one) {
  if (random.chance(0.4)) return random.integer(1, 2 * t.lanes);
  if (voxels_of_one < 300) return (blocks_at_once + 1) * t.lanes + random.integer(1, t.lanes);
  return random.integer(1, std::clamp<std::int64_t>(60000 / voxels_of_one, 2, 7 * t.lanes));
}

inline Format random_format(test::Random& random, const Tiling& t, std::int64_t channels) {
  if (channels < t.lanes && random.chance(0.6)) return {};
  return {ElementType::f32, t.lanes == 16 ? Layout::blocked16 : Layout::blocked8};
}

// Returns a layer of which the tiling computes the phases, and sets these. Every other layer has no dilation.
inline ConvProblem random_layer_of(test::Random& random, Tiling& t) {
  ConvProblem layer = t.problem;
  if (random.chance(0.5)) return layer;
  layer.dilation = random.vec3(1, 3);
  layer.in.n = layer.in.n * layer.dilation - random.vec3(0, 2) % layer.dilation;
  t.phases = phases_of(layer);
  t.problem = phase_problem(layer, t.phases);
  return layer;
}

}  // namespace znni::cpu::fft_tiled
