#include "planner/plan/throughput.hpp"

#include <gtest/gtest.h>

#include "tests/planner/drawn_primitives.hpp"

namespace znni {
namespace {

Geometry geometry_of_cube(const Network& network, std::int64_t edge, std::int64_t S, PoolMode mode) {
  const std::vector<PoolingMode> modes(pooling_nodes(network).size(), mode);
  const Result<Geometry> made = make_geometry(network, {Vec3::cube(edge), S, modes});
  EXPECT_TRUE(made);
  return *made;
}

TEST(PlannerThroughput, UsefulVoxelsOfAPatch) {
  const Network network = drawn::chain();
  const Vec3 fov = reaches(network).back().fov;
  const Geometry patch = geometry_of_cube(network, 12, 2, PoolMode::fragments);
  EXPECT_EQ(useful_voxels(patch, fov, std::nullopt), 2.0 * static_cast<double>(voxels(patch.patch_output)));
}

TEST(PlannerThroughput, InAnEndlessVolumeAllThatIsWrittenCounts) {
  const Geometry patch = geometry_of_cube(drawn::chain(), 12, 2, PoolMode::fragments);
  EXPECT_EQ(endless_rate(patch, 0.5), 4.0 * static_cast<double>(voxels(patch.patch_output)));
}

TEST(PlannerThroughput, UsefulVoxelsOfAVolumeLoseWhatOverlaps) {
  const Network network = drawn::chain();
  const Vec3 fov = reaches(network).back().fov;
  const Geometry patch = geometry_of_cube(network, 12, 1, PoolMode::fragments);
  const Vec3 two = patch.patch_output * Vec3::cube(2) + fov - Vec3::cube(1);
  EXPECT_DOUBLE_EQ(useful_voxels(patch, fov, two), static_cast<double>(voxels(patch.patch_output)));
  const Vec3 bit_more = two + Vec3{0, 0, 1};  // a third patch along x, nearly for nothing
  EXPECT_LT(useful_voxels(patch, fov, bit_more), 0.8 * static_cast<double>(voxels(patch.patch_output)));
  const Geometry pair = geometry_of_cube(network, 12, 4, PoolMode::fragments);
  EXPECT_DOUBLE_EQ(useful_voxels(pair, fov, two), 4.0 * static_cast<double>(voxels(patch.patch_output)));
}

Geometry stream(const Network& network, std::int64_t planes, std::int64_t edge) {
  const std::vector<PoolingMode> modes(pooling_nodes(network).size(), PoolMode::fragments);
  return *make_geometry(network, {{planes, edge, edge}, 1, modes, 0, true});
}

TEST(PlannerThroughput, AStreamCountsInItsSteadyStateUnlessAVolumeIsGiven) {
  const Network network = drawn::chain();
  const Vec3 fov = reaches(network).back().fov;
  const Geometry step = stream(network, 4, 12);
  EXPECT_EQ(step.patch_output.z, 4);
  EXPECT_EQ(useful_voxels(step, fov, std::nullopt), static_cast<double>(voxels(step.patch_output)));
  const Vec3 column = {4 * 10, 12, 12};  // ten steps, less than ten of output
  const double dense = static_cast<double>(voxels(column - fov + Vec3::cube(1)));
  EXPECT_DOUBLE_EQ(useful_voxels(step, fov, column), dense / 10);
}

// Fields of view 5 and 9: of steps of 2 planes the first two lack the first node, and two more the second.
TEST(PlannerThroughput, FirstStepsOfAStreamAreShorterByWhatTheyDoWithout) {
  Network network;
  network.nodes = {{"a", drawn::convolution(1, Vec3::cube(5)), {0}}, {"b", drawn::convolution(1, Vec3::cube(5)), {1}}};
  const Geometry step = stream(network, 2, 12);
  Rung rung;
  rung.segments = {{0, 1, Place::cpu, {}, {}}};
  for (const int node : {-1, 0, 1}) {
    Step own;
    own.node = node;
    own.seconds = node == 0 ? 1 : 10;
    rung.segments[0].steps.push_back(own);
  }
  EXPECT_EQ(idle_seconds(rung, step), 2 * 1 + 4 * 10);
  EXPECT_EQ(idle_seconds(rung, stream(network, 6, 12)), 1 * 10);
  EXPECT_EQ(idle_seconds(rung, *make_geometry(network, {{12, 12, 12}, 1, {}})), 0);
  rung.segments[0].place = Place::gpu;
  EXPECT_EQ(idle_seconds(rung, step), 0);
}

TEST(PlannerThroughput, AStreamWastesNothingAlongItsAxisAndCopiesItsHistories) {
  Network network;  // cross-sections of 8^2 and 6^2 voxels
  network.nodes = {{"a", drawn::convolution(1, Vec3::cube(3)), {0}}, {"b", drawn::convolution(1, Vec3::cube(3)), {1}}};
  const Geometry step = stream(network, 4, 10);
  EXPECT_NEAR(border_cost(network, step), (64.0 + 36.0) / (2 * 36.0), 1e-12);
  DeviceSpec spec;
  const double histories = 2 * (100 + 64);  // two planes of the input and of what the first layer writes
  EXPECT_NEAR(copy_seconds(network, step, spec) * spec.bytes_per_second, 4 * (2 * 4 * 100 + 2 * 4 * 36 + 4 * histories),
              1e-6);
}

TEST(PlannerThroughput, AStepOfOnePhaseIsGoodForItsOwnVoxels) {
  const Network network = drawn::chain();
  GeometryChoice choice{{4, 12, 12}, 1, {PoolMode::fragments}, 0, true};
  const Geometry whole = make_geometry(network, choice).value();
  choice.modes[0] = {{1, 2, 2}, false};
  choice.pass_input = {4, 11, 11};
  const Geometry phase = make_geometry(network, choice).value();
  ASSERT_EQ(phase.patch_output, whole.patch_output);
  const Vec3 fov = reaches(network).back().fov;
  EXPECT_DOUBLE_EQ(useful_voxels(phase, fov, {}), useful_voxels(whole, fov, {}) / 4);
  const Vec3 volume = fov + Vec3{37, 5, 11};
  EXPECT_DOUBLE_EQ(useful_voxels(phase, fov, volume), useful_voxels(whole, fov, volume) / 4);
  GeometryChoice apart = choice;
  apart.streamed = false;
  apart.pass_input.z = legal_extents(network, choice.modes, 0, 2000).back();
  EXPECT_NEAR(border_cost(network, phase), border_cost(network, make_geometry(network, apart).value()), 0.01);
  // The new planes of one window, a quarter of the output, and what one window keeps.
  DeviceSpec spec;
  double kept = 0;
  for (int value = 0; value <= static_cast<int>(network.nodes.size()); ++value) {
    kept += static_cast<double>(history_bytes(phase, value, {}));
  }
  const double read = 4.0 * static_cast<double>(elements(phase.values.front()));
  const double written = 4.0 * 2 * static_cast<double>(voxels(phase.patch_output) / 4);
  EXPECT_NEAR(copy_seconds(network, phase, spec) * spec.bytes_per_second, 2 * read + 4 * written + 4 * kept, 1e-6);
}

TEST(PlannerThroughput, CopiesAreThoseOfAllWindows) {
  const Network network = drawn::chain();
  DeviceSpec spec;
  // Read once a window: a read and a write of each voxel; written once, with gaps: four times its bytes.
  const auto expected = [&](const Geometry& own) {
    const double read = static_cast<double>(own.windows) * static_cast<double>(elements(own.values.front()));
    const double written = 2.0 * static_cast<double>(own.choice.S * voxels(own.patch_output));
    return 4.0 * (2.0 * read + 4.0 * written) / spec.bytes_per_second;
  };
  const Geometry plain = geometry_of_cube(network, 13, 1, PoolMode::plain);
  EXPECT_EQ(plain.windows, 8);
  EXPECT_DOUBLE_EQ(copy_seconds(network, plain, spec), expected(plain));
  // Groups that hold their input run in passes of one window.
  const Geometry held = make_geometry(network, {Vec3::cube(12), 2, {PoolingMode({2, 2, 1}, true)}}).value();
  EXPECT_EQ(held.passes.size(), 4U);
  EXPECT_EQ(held.windows, 1);
  EXPECT_DOUBLE_EQ(copy_seconds(network, held, spec), expected(held));
  spec.bytes_per_second *= 2;
  EXPECT_DOUBLE_EQ(copy_seconds(network, plain, spec), expected(plain));
}

TEST(PlannerThroughput, BorderCostCountsWhatSlabsOfAStemComputeTwice) {
  const Network network = drawn::chain();
  GeometryChoice choice{{12, 12, 12}, 1, {PoolMode::fragments}, 0};
  const Geometry whole = make_geometry(network, choice).value();
  choice.stem_slab = 1;
  const Geometry slabs = make_geometry(network, choice).value();
  ASSERT_EQ(slabs.stem.last, 1);
  double computed = 0;
  double once = 0;
  for (std::size_t node = 0; node < whole.problems.size(); ++node) {
    computed += static_cast<double>(slabs.runs[node]) * direct_flops(slabs.problems[node]);
    once += static_cast<double>(whole.runs[node]) * direct_flops(whole.problems[node]);
  }
  ASSERT_GT(computed, once);
  EXPECT_NEAR(border_cost(network, slabs) / border_cost(network, whole), computed / once, 0.02);
  EXPECT_GT(border_cost(network, slabs), border_cost(network, whole));
}

TEST(PlannerThroughput, BorderCostOfOneConvolutionIsOne) {
  Network network;
  network.nodes = {{"conv", drawn::convolution(3, Vec3::cube(3)), {0}}};
  EXPECT_NEAR(border_cost(network, geometry_of_cube(network, 10, 1, PoolMode::plain)), 1.0, 1e-12);
}

TEST(PlannerThroughput, BorderCostByHand) {
  Network network;  // outputs of 8^3 and 6^3 voxels: the first layer computes 512 where 216 are needed
  network.nodes = {{"a", drawn::convolution(1, Vec3::cube(3)), {0}}, {"b", drawn::convolution(1, Vec3::cube(3)), {1}}};
  EXPECT_NEAR(border_cost(network, geometry_of_cube(network, 10, 1, PoolMode::plain)), (512.0 + 216.0) / (2 * 216.0),
              1e-12);
}

TEST(PlannerThroughput, BorderCostFallsTowardsOneForAllModes) {
  const Network network = drawn::chain();
  for (const PoolMode mode : {PoolMode::plain, PoolMode::fragments}) {
    const std::int64_t odd = mode == PoolMode::plain ? 1 : 0;
    double before = 100;
    for (const std::int64_t edge : {10, 20, 80, 500}) {
      const double cost = border_cost(network, geometry_of_cube(network, edge + odd, 1, mode));
      EXPECT_LT(cost, before);
      EXPECT_GE(cost, 1.0);
      before = cost;
    }
    EXPECT_LT(before, 1.02);
  }
}

}  // namespace
}  // namespace znni
