#include "tests/planner/folded_net.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "planner/network/graph_passes.hpp"

namespace znni::test {
namespace {

void expect_alike(const oracle::Values& found, const oracle::Values& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  double most = 1;
  for (const double value : wanted) most = std::max(most, std::abs(value));
  for (std::size_t i = 0; i < wanted.size(); ++i) ASSERT_NEAR(found[i], wanted[i], 1e-5 * most) << i;
}

}  // namespace

LoadedNetwork expect_folded_alike(const Network& network, std::uint64_t seed, Random& random) {
  const NetworkWeights weights = random_weights(network, seed);
  LoadedNetwork folded = fold_and_fuse({network, weights});
  EXPECT_TRUE(check(folded.network)) << check(folded.network).error().message;
  EXPECT_TRUE(check_weights(folded.network, folded.weights));
  if (testing::Test::HasFailure()) return folded;
  EXPECT_EQ(describe(fold_and_fuse({network, {}}).network), describe(folded.network));
  const Reach reach = reaches(network).back();
  EXPECT_EQ(reaches(folded.network).back().fov, reach.fov);
  // Poolings may have taken in dilations (planner/network/max_filters.hpp).
  EXPECT_EQ(reaches(folded.network).back().stride % reach.stride, Vec3{});
  const Vec3 n = reaches(network).back().fov + Vec3::cube(1);
  const oracle::Values input = normals64(network.f_in * voxels(n), random);
  expect_alike(dense_output(folded.network, folded.weights, n, input), dense_output(network, weights, n, input));
  return folded;
}

}  // namespace znni::test
