#include "planner/geometry/geometry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/planner/dense_net.hpp"
#include "tests/planner/random_modes.hpp"

namespace znni {
namespace {

using test::Random;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr PoolMode plain = PoolMode::plain;
constexpr PoolMode mpf = PoolMode::fragments;

// Returns conv 3 - pool 2 - conv 3 - pool 2 - conv 3 along x only.
Network chain_along_x() {
  const Pooling pool{PoolKind::max, {1, 1, 2}, {1, 1, 2}};
  const Convolution conv{1, {1, 1, 3}, Vec3::cube(1), {}};
  Network network;
  network.nodes = {
      {"conv1", conv, {0}}, {"pool1", pool, {1}}, {"conv2", conv, {2}}, {"pool2", pool, {3}}, {"conv3", conv, {4}}};
  return network;
}

Geometry geometry_of(const Network& network, Vec3 pass_input, std::vector<PoolingMode> modes, std::int64_t S = 1) {
  Result<Geometry> geometry = make_geometry(network, {pass_input, S, std::move(modes)});
  EXPECT_TRUE(geometry) << geometry.error().message;
  return *geometry;
}

std::vector<Vec3> windows(const Geometry& geometry) {
  std::vector<Vec3> begins;
  for (const Pass& pass : geometry.passes) begins.push_back(pass.shift);
  return begins;
}

std::string failure_of(const Network& network, const GeometryChoice& choice) {
  const Result<Geometry> geometry = make_geometry(network, choice);
  return geometry ? "no failure" : geometry.error().message;
}

// fov of the chain: 3, 4, 8, 10, 18; fragments at offsets 0..3.
TEST(PlannerGeometry, AllFragments) {
  const Geometry geometry = geometry_of(chain_along_x(), {1, 1, 21}, {mpf, mpf});
  EXPECT_EQ(geometry.values[1], (Shape5{1, 1, {1, 1, 19}}));
  EXPECT_EQ(geometry.values[2], (Shape5{2, 1, {1, 1, 9}}));
  EXPECT_EQ(geometry.values[4], (Shape5{4, 1, {1, 1, 3}}));
  EXPECT_EQ(geometry.values[5], (Shape5{4, 1, {1, 1, 1}}));
  EXPECT_EQ(std::get<PoolProblem>(geometry.problems[3]).fragments, (Vec3{1, 1, 2}));
  EXPECT_THAT(geometry.fragments[2].offsets, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(windows(geometry), ElementsAre(Vec3{0, 0, 0}));
  EXPECT_EQ(geometry.patch_input, (Vec3{1, 1, 21}));
  EXPECT_EQ(geometry.patch_output, (Vec3{1, 1, 4}));
}

TEST(PlannerGeometry, AllPlainIsTheNaiveMethod) {
  const Geometry geometry = geometry_of(chain_along_x(), {1, 1, 18}, {plain, plain});
  EXPECT_EQ(geometry.values.back(), (Shape5{1, 1, {1, 1, 1}}));
  EXPECT_THAT(windows(geometry), ElementsAre(Vec3{0, 0, 0}, Vec3{0, 0, 1}, Vec3{0, 0, 2}, Vec3{0, 0, 3}));
  EXPECT_EQ(geometry.patch_input, (Vec3{1, 1, 21}));
  EXPECT_EQ(geometry.patch_output, (Vec3{1, 1, 4}));
}

TEST(PlannerGeometry, MixedModesShiftByWhatThePlainPoolingKept) {
  EXPECT_THAT(windows(geometry_of(chain_along_x(), {1, 1, 20}, {plain, mpf})),
              ElementsAre(Vec3{0, 0, 0}, Vec3{0, 0, 1}));
  EXPECT_THAT(windows(geometry_of(chain_along_x(), {1, 1, 19}, {mpf, plain})),
              ElementsAre(Vec3{0, 0, 0}, Vec3{0, 0, 2}));
}

TEST(PlannerGeometry, GroupsThatRecomputeShiftTheWindow) {
  const PoolingMode recompute = {{1, 1, 2}, false};
  const Geometry geometry = geometry_of(chain_along_x(), {1, 1, 20}, {recompute, mpf});
  EXPECT_THAT(windows(geometry), ElementsAre(Vec3{0, 0, 0}, Vec3{0, 0, 1}));
  EXPECT_EQ(geometry.values[2], (Shape5{1, 1, {1, 1, 9}}));
  EXPECT_EQ(geometry.patch_input, (Vec3{1, 1, 21}));
  EXPECT_THAT(geometry.held, ElementsAre());
}

TEST(PlannerGeometry, ErrorsNameTheNodeAndTheNumbers) {
  const Network network = chain_along_x();
  EXPECT_THAT(failure_of(network, {{1, 1, 22}, 1, {mpf, mpf}}),
              HasSubstr("node pool1: n.x - window.x + 1 = 19 is not divisible by stride.x = 2"));
  EXPECT_THAT(failure_of(network, {{1, 1, 19}, 1, {plain, plain}}),
              HasSubstr("node pool1: n.x - window.x = 15 is not divisible by stride.x = 2"));
  EXPECT_THAT(failure_of(network, {{1, 1, 19}, 1, {mpf, mpf}}),
              HasSubstr("node pool2: n.x - window.x + 1 = 5 is not divisible by stride.x = 2"));
  EXPECT_THAT(failure_of(network, {{1, 1, 14}, 1, {plain, plain}}), HasSubstr("node conv3: n.x = 2 is smaller"));
  EXPECT_THAT(failure_of(network, {{1, 0, 14}, 1, {plain, plain}}), HasSubstr("input: shape"));
  EXPECT_THAT(failure_of(network, {{1, 1, 21}, 0, {mpf, mpf}}), HasSubstr("input: shape"));
  EXPECT_THAT(failure_of(network, {{1, 1, 21}, 1, {mpf}}), HasSubstr("modes of 1 poolings; the network has 2"));
  EXPECT_THAT(failure_of(network, {{1, 1, 21}, 1, {mpf, {{1, 1, 3}, true}}}),
              HasSubstr("node pool2: 3 groups along x; a divisor of its stride 2 is right"));
  EXPECT_THAT(failure_of(network, {{1, 1, 21}, 1, {mpf, {{1, 0, 1}, true}}}), HasSubstr("0 groups along y"));
  EXPECT_THAT(failure_of(network, {{1, 1, 22}, 1, {{{1, 1, 2}, true}, mpf}}),
              HasSubstr("node pool1: n.x - window.x - 1 more offsets = 17 is not divisible by stride.x = 2"));
}

TEST(PlannerGeometry, StridesLeaveNoVoxelUnread) {
  Network network;
  network.nodes = {{"conv", Convolution{1, {1, 1, 3}, Vec3::cube(1), {}, {1, 1, 2}}, {0}},
                   {"up", Upsample{{1, 1, 2}}, {1}}};
  ASSERT_TRUE(check(network));
  EXPECT_THAT(failure_of(network, {{1, 1, 8}, 1, {}}),
              HasSubstr("node conv: n = 1x1x8 leaves 0x0x1 voxels unread at the stride 1x1x2"));
  EXPECT_EQ(geometry_of(network, {1, 1, 9}, {}).values[1], (Shape5{1, 1, {1, 1, 4}}));
}

TEST(PlannerGeometry, ExtentsBeyondAllMemoryAreRefused) {
  const Network network = chain_along_x();
  const std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_THAT(failure_of(network, {Vec3::cube(huge), 1, {mpf, mpf}}), HasSubstr("2^60"));
  EXPECT_THAT(failure_of(network, {{1, 1, saturated}, 1, {mpf, mpf}}), HasSubstr("2^60"));
}

TEST(PlannerGeometry, TooManyPassesAreRefused) {
  Network network;
  network.nodes = {{"pool", Pooling{PoolKind::max, Vec3::cube(64), Vec3::cube(64)}, {0}}};
  EXPECT_THAT(failure_of(network, {Vec3::cube(64), 1, {plain}}),
              HasSubstr("262144 passes per patch, 64x64x64 windows"));
  EXPECT_TRUE(make_geometry(network, {Vec3::cube(127), 1, {mpf}}));
}

// Two branches of equal reach, one plain and one of fragments: their voxels lie in different places.
TEST(PlannerGeometry, BranchesNeedTheSameModes) {
  const Pooling pool{PoolKind::max, Vec3::cube(2), Vec3::cube(2)};
  Network network;
  network.nodes = {{"a", pool, {0}}, {"b", pool, {0}}, {"sum", Add{}, {1, 2}}};
  ASSERT_TRUE(check(network));
  EXPECT_THAT(failure_of(network, {Vec3::cube(2), 1, {plain, mpf}}), HasSubstr("node sum: branches meet"));
  EXPECT_TRUE(legal_extents(network, {plain, mpf}, 1, 100).empty());
  EXPECT_EQ(geometry_of(network, Vec3::cube(3), {mpf, mpf}).passes.size(), 1U);
  EXPECT_EQ(geometry_of(network, Vec3::cube(2), {plain, plain}).passes.size(), 8U);
  EXPECT_THAT(failure_of(network, {Vec3::cube(3), 1, {{{2, 1, 1}, true}, {{2, 1, 1}, true}}}),
              HasSubstr("node a: its fragments cannot be made in groups that hold their input"));
}

TEST(PlannerGeometry, LegalExtentsOfTheChain) {
  const Network network = chain_along_x();
  EXPECT_THAT(legal_extents(network, {mpf, mpf}, 2, 32), ElementsAre(21, 25, 29));
  EXPECT_THAT(legal_extents(network, {plain, plain}, 2, 26), ElementsAre(18, 22, 26));
  EXPECT_THAT(legal_extents(network, {plain, mpf}, 0, 3), ElementsAre(1, 2, 3));
  EXPECT_THAT(legal_extents(network, {mpf, mpf}, 2, 20), ElementsAre());
  EXPECT_THAT(legal_extents(network, {mpf}, 2, 100), ElementsAre());
}

class RandomNets : public testing::TestWithParam<int> {
 protected:
  RandomNets() : seed(test::base_seed() * 1000 + static_cast<std::uint64_t>(GetParam())), random(seed) {}

  void SetUp() override {
    network = test::random_network(random);
    const Result<void> sound = check(network);
    ASSERT_TRUE(sound) << sound.error().message;
    modes = test::random_modes(network, random);
  }
  [[nodiscard]] std::string text() const {
    std::string all = "case " + std::to_string(GetParam()) + ", ZNNI_TEST_SEED=" + std::to_string(test::base_seed());
    for (const std::string& line : describe(network)) all += "\n  " + line;
    for (const PoolingMode& mode : modes) all += " " + to_string(mode);
    return all;
  }

  std::uint64_t seed;
  Random random;
  Network network;
  std::vector<PoolingMode> modes;
};

TEST_P(RandomNets, LegalExtentsAreThoseOfWhichAGeometryCanBeMade) {
  SCOPED_TRACE(text());
  for (int axis = 0; axis < 3; ++axis) {
    Vec3 extent = test::random_extent(network, modes, random, 1);
    const std::vector<std::int64_t> legal = legal_extents(network, modes, axis, 48);
    for (extent[axis] = 1; extent[axis] <= 48; ++extent[axis]) {
      const bool listed = std::binary_search(legal.begin(), legal.end(), extent[axis]);
      ASSERT_EQ(make_geometry(network, {extent, 1, modes}).has_value(), listed) << to_string(extent);
    }
  }
}

TEST_P(RandomNets, EveryDenseVoxelIsWrittenExactlyOnce) {
  SCOPED_TRACE(text());
  const Vec3 extent = test::random_extent(network, modes, random, 3);
  const Geometry geometry = geometry_of(network, extent, modes, 2);
  const Shape5 out = geometry.values.back();
  const Reach reach = reaches(network).back();
  EXPECT_EQ(geometry.patch_output, out.n * reach.stride);
  EXPECT_EQ(geometry.patch_input, geometry.patch_output + reach.fov - Vec3::cube(1));
  EXPECT_EQ(static_cast<std::int64_t>(geometry.passes.size()) * out.S / 2, voxels(reach.stride));
  std::set<Vec3> positions;
  for (std::size_t pass = 0; pass < geometry.passes.size(); ++pass) {
    for (std::int64_t fragment = 0; fragment < out.S / 2; ++fragment) {
      for (std::int64_t i = 0; i < voxels(out.n); ++i) {
        const Vec3 at = dense_position(geometry, pass, fragment, fragment_at(i, out.n));
        ASSERT_TRUE(covers(at, {}) && covers(geometry.patch_output - Vec3::cube(1), at)) << to_string(at);
        ASSERT_TRUE(positions.insert(at).second) << "twice: " << to_string(at);
      }
    }
  }
  EXPECT_EQ(static_cast<std::int64_t>(positions.size()), voxels(geometry.patch_output));
}

TEST_P(RandomNets, PassesTogetherEqualTheSlidingWindow) {
  SCOPED_TRACE(text());
  const Geometry geometry = geometry_of(network, test::random_extent(network, modes, random, 2), modes, 2);
  const NetworkWeights weights = random_weights(network, seed);
  const std::int64_t one = network.f_in * voxels(geometry.patch_input);
  const oracle::Values input = test::normals64(2 * one, random);
  const oracle::Values found = test::run_passes(network, weights, geometry, input);
  oracle::Values wanted =
      test::dense_output(network, weights, geometry.patch_input, {input.begin(), input.begin() + one});
  const oracle::Values second =
      test::dense_output(network, weights, geometry.patch_input, {input.begin() + one, input.end()});
  wanted.insert(wanted.end(), second.begin(), second.end());
  ASSERT_EQ(found.size(), wanted.size());
  double most = 1;
  for (const double value : wanted) most = std::max(most, std::abs(value));
  for (std::size_t i = 0; i < wanted.size(); ++i) ASSERT_NEAR(found[i], wanted[i], 1e-12 * most) << i;
}

// The definition itself: the net run by the oracle on one window gives one voxel of the dense output.
TEST_P(RandomNets, TheDenseOutputIsTheNetOnEachWindow) {
  SCOPED_TRACE(text());
  const Vec3 fov = reaches(network).back().fov;
  const Vec3 n = fov + random.vec3(0, 2);
  const Vec3 at = {random.integer(0, n.z - fov.z), random.integer(0, n.y - fov.y), random.integer(0, n.x - fov.x)};
  const NetworkWeights weights = random_weights(network, seed);
  const oracle::Values input = test::normals64(network.f_in * voxels(n), random);
  Geometry window = geometry_of(network, fov, std::vector<PoolingMode>(modes.size(), plain));
  window.passes = {Pass{at, at, -1, {}}};  // one window, of a larger volume
  window.patch_input = n;
  window.patch_output = n - fov + Vec3::cube(1);
  const oracle::Values found = test::run_passes(network, weights, window, input);
  const oracle::Values dense = test::dense_output(network, weights, n, input);
  ASSERT_EQ(found.size(), dense.size());
  std::int64_t written = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (std::isnan(found[i])) continue;
    ++written;
    EXPECT_NEAR(found[i], dense[i], 1e-12 * std::max(1.0, std::abs(dense[i])));
  }
  EXPECT_EQ(written, window.values.back().f);
}

INSTANTIATE_TEST_SUITE_P(PlannerGeometry, RandomNets, testing::Range(0, test::case_count(60)));

}  // namespace
}  // namespace znni
