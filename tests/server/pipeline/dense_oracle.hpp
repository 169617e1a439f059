// The dense sliding window in float64: the net applied to the window at every voxel. Computed layer by
// layer over the whole volume, each layer dilated by the strides before it, which is the same thing.
#pragma once

#include "planner/network/network.hpp"
#include "server/volume/volume_view.hpp"
#include "tests/oracle/oracle.hpp"

namespace znni::test {

// All that the net goes through: [0] the volume, [i + 1] what node i makes of it.
struct DenseValues {
  std::vector<Shape5> shapes;
  std::vector<oracle::Values> values;
};
[[nodiscard]] DenseValues dense_values(const Network& network, const NetworkWeights& weights, Vec3 n,
                                       const oracle::Values& volume);

// Returns the problem of `operation` for tensors of the shapes `in`, behind poolings of that stride. A pooling's window
// has its own extent, although its voxels stand apart.
[[nodiscard]] LayerProblem dense_problem(const Operation& operation, Vec3 stride, const std::vector<Shape5>& in);

// Returns the dense output [f_out][n - fov + 1] of `network` for a volume [f_in][n], n at least the field of view.
[[nodiscard]] oracle::Values dense_oracle(const Network& network, const NetworkWeights& weights, Vec3 n,
                                          const oracle::Values& volume);

// Returns the voxels of `volume`, normalised, [f][z][y][x].
[[nodiscard]] oracle::Values volume_values(const VolumeView& volume, const Normalisation& normalisation);

}  // namespace znni::test
