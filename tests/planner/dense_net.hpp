// Whole networks in float64: the dense sliding window by its definition, random nets, and the passes of a
// geometry run by the oracle and put together. What planner and pipeline are held against.
#pragma once

#include <cstdint>

#include "planner/geometry/geometry.hpp"
#include "planner/network/network.hpp"
#include "tests/oracle/oracle.hpp"
#include "tests/support/random.hpp"

namespace znni::test {

// Computes the network at every window of `input` ([f_in][n.z][n.y][n.x]): [f_out][n - fov + 1]. Computed value by
// value, each at every position of the dense grid (the dilated form of the net), without any geometry.
[[nodiscard]] oracle::Values dense_output(const Network& network, const NetworkWeights& weights, Vec3 n,
                                          const oracle::Values& input);

// Runs every pass of the geometry through the oracle, problem by problem, on `input`, [S][f_in][patch_input], and
// places its fragments by dense_position(): [S][f_out][patch_output]. Voxels that no fragment writes are NaN; one that
// is written twice is a test failure.
[[nodiscard]] oracle::Values run_passes(const Network& network, const NetworkWeights& weights, const Geometry& geometry,
                                        const oracle::Values& input);

// Draws a network: chains with residual and concatenating branches, branches that pool or crop in different places,
// every operation, anisotropic windows; field of view up to about 14, total stride up to 6 per axis.
[[nodiscard]] Network random_network(Random& random);

// Draws a small legal extent per axis, of which the patch gives up to `max_out` output voxels of each fragment.
[[nodiscard]] Vec3 random_extent(const Network& network, const std::vector<PoolingMode>& modes, Random& random,
                                 std::int64_t max_out);

[[nodiscard]] oracle::Values normals64(std::int64_t count, Random& random);

}  // namespace znni::test
