// Random networks that pad, and the valid ones made of them: of any volume the output of the latter is that of the
// former, where that depends on no padding.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "planner/network/made_valid.hpp"
#include "tests/server/pipeline/dense_oracle.hpp"
#include "tests/server/pipeline/strided_network.hpp"

namespace znni {
namespace {

using test::in_words;
using test::PaddedNetwork;
using test::Random;

std::int64_t at(std::int64_t channel, Vec3 voxel, Vec3 n) {
  return ((channel * n.z + voxel.z) * n.y + voxel.y) * n.x + voxel.x;
}

// The output of the network, which is valid, for a volume.
oracle::Values valid_output(const LoadedNetwork& valid, Vec3 n, const oracle::Values& volume) {
  if (is_dense(valid.network)) return test::dense_oracle(valid.network, valid.weights, n, volume);
  const std::vector<Border> none(valid.network.nodes.size());
  return test::padded_oracle({valid.network, valid.weights, none}, n, volume);
}

oracle::Values random_volume(std::int64_t f, Vec3 n, Random& random) {
  oracle::Values volume(static_cast<std::size_t>(f * voxels(n)));
  for (double& voxel : volume) voxel = random.normal();
  return volume;
}

// Compares all voxels of the valid output that the padded network computes.
void compare(const PaddedNetwork& padded, const LoadedNetwork& framed, const MadeValid& made, Vec3 n, Random& random) {
  const oracle::Values volume = random_volume(framed.network.f_in, n, random);
  const oracle::Values wanted = test::padded_oracle(padded, n, volume);
  const oracle::Values found = valid_output(made.loaded, n, volume);
  const Vec3 of_wanted = n - lost_extent(framed.network) + Vec3::cube(1);
  const Vec3 of_found = n - lost_extent(made.loaded.network) + Vec3::cube(1);
  const std::int64_t f = channels_of(made.loaded.network).back();
  ASSERT_EQ(static_cast<std::int64_t>(wanted.size()), f * voxels(of_wanted));
  ASSERT_EQ(static_cast<std::int64_t>(found.size()), f * voxels(of_found));
  double largest = 0;
  for (const double value : wanted) largest = std::max(largest, std::abs(value));
  std::int64_t compared = 0;
  for (std::int64_t i = 0; i < f * voxels(of_found); ++i) {
    const Vec3 voxel{i / (of_found.x * of_found.y) % of_found.z, i / of_found.x % of_found.y, i % of_found.x};
    const Vec3 other = voxel + made.first;
    ASSERT_TRUE(covers(of_wanted, other + Vec3::cube(1))) << to_string(other);
    if (other % made.step != Vec3{}) continue;
    const double expected = wanted[static_cast<std::size_t>(at(i / voxels(of_found), other, of_wanted))];
    ASSERT_NEAR(found[static_cast<std::size_t>(i)], expected, 1e-9 * largest) << to_string(voxel);
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

// A volume that both networks take; at least one in `most` voxels of its output is compared.
Vec3 common_extent(const Network& padded, const Network& valid, Vec3 most, Random& random) {
  const Vec3 frame = padded.frame.begin + padded.frame.end;
  const Vec3 step = period(padded);
  Vec3 n = min_extent(padded) - frame;
  for (int axis = 0; axis < 3; ++axis) {
    while (n[axis] < min_extent(valid)[axis] + most[axis] || random.chance(0.3)) n[axis] += step[axis];
  }
  return n;
}

void expect_equal_inside(const std::function<PaddedNetwork(Random&)>& make) {
  for (int i = 0; i < test::case_count(40); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    const PaddedNetwork padded = make(random);
    const LoadedNetwork framed = test::valid_form(padded, false);
    const Result<MadeValid> made = make_valid(framed);
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed) + in_words(framed.network));
    ASSERT_TRUE(made) << made.error().message;
    SCOPED_TRACE(in_words(made->loaded.network));
    ASSERT_FALSE(has_padding(made->loaded.network));
    ASSERT_TRUE(check(made->loaded.network)) << check(made->loaded.network).error().message;
    const Vec3 n = common_extent(framed.network, made->loaded.network, made->step - Vec3::cube(1), random);
    EXPECT_TRUE(check_volume(made->loaded.network, n)) << to_string(n);
    compare(padded, framed, *made, n, random);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(Unpadded, Chains) {
  expect_equal_inside([](Random& random) { return test::random_padded_network(random); });
}

TEST(Unpadded, UNets) {
  expect_equal_inside([](Random& random) { return test::random_strided_network(random, false); });
}

TEST(Unpadded, UNetsThatInterpolate) {
  expect_equal_inside([](Random& random) { return test::random_strided_network(random, false, true); });
}

TEST(Unpadded, NetworksThatRepeatTheirEdges) {
  expect_equal_inside([](Random& random) { return test::random_edged_network(random); });
}

TEST(Unpadded, NetworksThatReflect) {
  expect_equal_inside([](Random& random) { return test::random_reflecting_network(random); });
}

TEST(Unpadded, NetworksWhoseOutputIsCoarse) {
  expect_equal_inside([](Random& random) { return test::random_coarse_network(random, false); });
}

}  // namespace
}  // namespace znni
