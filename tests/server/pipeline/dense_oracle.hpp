// The dense sliding window in float64: the net applied to the window at every voxel. Computed layer by
// layer over the whole volume, each layer dilated by the strides before it, which is the same thing.
#pragma once

#include "planner/network.hpp"
#include "server/volume/volume_view.hpp"
#include "tests/oracle/oracle.hpp"

namespace znni::test {

// Dense output [f_out][n - fov + 1] of `network` for a volume [f_in][n], n at least the field of view.
[[nodiscard]] oracle::Values dense_oracle(const Network& network, const NetworkWeights& weights, Vec3 n,
                                          const oracle::Values& volume);

// The voxels of `volume`, normalised, [f][z][y][x].
[[nodiscard]] oracle::Values volume_values(const VolumeView& volume, const Normalisation& normalisation);

}  // namespace znni::test
