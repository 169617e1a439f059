// The declared buffers against Table II of the ZNNi paper, on random shapes.
#include "primitives/cpu/fft/conv_fft_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "primitives/cpu/fft/pruned_fft.hpp"
#include "tests/support/random.hpp"

namespace znni::cpu {
namespace {

// Numbers of one layer in the paper's letters. The last three are bytes of a channel: n, n' = n - k + 1 and the
// transform n~.
struct Sizes {
  std::int64_t S, f, f_out, n, n_out, transform;
};

Sizes sizes_of(const ConvProblem& problem) {
  const Vec3 n_fft = fft_extent(problem.in.n);
  return {problem.in.S,
          problem.in.f,
          problem.f_out,
          4 * voxels(problem.in.n),
          4 * voxels(output_shape(problem).n),
          8 * round_up((n_fft.x / 2 + 1) * n_fft.y * n_fft.z, 2)};
}

// Returns a layer of realistic size, far larger than the tests compute.
ConvProblem random_layer(test::Random& random) {
  ConvProblem problem;
  problem.k = random.vec3(1, 9);
  problem.dilation = random.chance(0.3) ? random.vec3(1, 8) : Vec3::cube(1);
  problem.in = {random.integer(1, 64), random.integer(1, 120),
                dilated(problem.k, problem.dilation) + random.vec3(0, 300)};
  problem.f_out = random.integer(1, 120);
  return problem;
}

class RandomLayers : public testing::Test {
 protected:
  template <class Check>
  static void each(const Check& check) {
    for (int index = 0; index < 500; ++index) {
      const std::uint64_t seed = test::base_seed() * 1000 + static_cast<std::uint64_t>(index);
      test::Random random(seed);
      const ConvProblem problem = random_layer(random);
      const int workers = static_cast<int>(random.integer(1, 100));
      SCOPED_TRACE("seed " + std::to_string(seed) + ": " + to_string(LayerProblem(problem)) + ", " +
                   std::to_string(workers) + " workers");
      check(problem, sizes_of(problem), workers);
    }
  }
};

TEST_F(RandomLayers, TaskParallelHoldsWhatTheTableSays) {
  each([](const ConvProblem& problem, const Sizes& b, int workers) {
    const std::int64_t T = std::min<std::int64_t>(workers, b.f_out);
    const std::int64_t table = std::max({b.S * b.f * (b.n + b.transform), (b.S * (b.f + b.f_out) + T) * b.transform,
                                         b.S * b.f_out * (b.n_out + b.transform)});
    EXPECT_EQ(peak(task_parallel_memory(problem, workers)), table);
  });
}

TEST_F(RandomLayers, DataParallelHoldsWhatThePseudoCodeHolds) {
  each([](const ConvProblem& problem, const Sizes& b, int workers) {
    const std::int64_t held =
        std::max(b.S * b.f * (b.n + b.transform), (b.S * b.f + b.S + 1) * b.transform + b.S * b.f_out * b.n_out);
    EXPECT_EQ(peak(data_parallel_memory(problem, workers)), held);
  });
}

// The residual stays until the output is written, in the last stage.
TEST_F(RandomLayers, AResidualIsHeldFromTheFirstStageToTheLast) {
  each([](ConvProblem problem, const Sizes& b, int workers) {
    const std::int64_t task = peak(task_parallel_memory(problem, workers));
    const std::int64_t data = peak(data_parallel_memory(problem, workers));
    problem.residual = true;
    EXPECT_EQ(peak(task_parallel_memory(problem, workers)), task + b.S * b.f_out * b.n_out);
    EXPECT_EQ(peak(data_parallel_memory(problem, workers)), data + b.S * b.f_out * b.n_out);
  });
}

TEST_F(RandomLayers, OnlyTilesLiveAsLongAsThePlan) {
  each([](const ConvProblem& problem, const Sizes&, int workers) {
    const Vec3 n = fft_extent(problem.in.n);
    const std::int64_t tiles = 2 * workers * tile_lines * std::max({n.z, n.y, n.x}) * 8;
    EXPECT_EQ(persistent_bytes(task_parallel_memory(problem, workers)), tiles);
    EXPECT_EQ(persistent_bytes(data_parallel_memory(problem, workers)), tiles);
  });
}

TEST(PrimaryThreads, AreTheFewerOfWorkersAndOutputChannels) {
  EXPECT_EQ(primary_threads(72, 3), 3);
  EXPECT_EQ(primary_threads(72, 80), 72);
  EXPECT_EQ(primary_threads(1, 1), 1);
}

TEST(ChannelsPerMeeting, AreThoseWhoseTransformsStayInACache) {
  const auto channels = [](std::int64_t S, std::int64_t f, Vec3 n) {
    return channels_per_meeting({{S, f, n}, 1, Vec3::cube(1), Vec3::cube(1), Vec3::cube(1), {}});
  };
  EXPECT_EQ(channels(2, 5, Vec3::cube(4)), 10) << "all of both inputs";
  EXPECT_EQ(channels(1, 5, Vec3::cube(40)), 3) << "of 262 to 350 KiB each";
  EXPECT_EQ(channels(1, 3, Vec3::cube(72)), 1);
}

TEST(ConvFftMemory, OfAbsurdLayersSaturates) {
  ConvProblem problem;
  problem.in = {1, 1, {std::int64_t{1} << 40, std::int64_t{1} << 19, 1}};
  problem.f_out = std::int64_t{1} << 60;
  EXPECT_EQ(peak(task_parallel_memory(problem, 2)), saturated);
  EXPECT_EQ(peak(data_parallel_memory(problem, 2)), saturated);
}

}  // namespace
}  // namespace znni::cpu
