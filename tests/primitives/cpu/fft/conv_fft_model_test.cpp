// Properties of the modelled times on which a planner relies: they are finite, grow with the work and rank as the paper
// found. Benchmarks check how close they are to measured times.
#include "primitives/cpu/fft/conv_fft_model.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "primitives/cpu/device/estimates.hpp"
#include "tests/support/random.hpp"

namespace znni::cpu {
namespace {

DeviceSpec machine(int threads) {
  DeviceSpec spec;
  spec.threads = threads;
  spec.simd_floats = 16;
  spec.flops_per_second = 2e11 * threads;
  spec.bytes_per_second = 2e10 * std::min(threads, 8);
  return spec;
}

ConvProblem layer(std::int64_t S, std::int64_t f, std::int64_t f_out, std::int64_t n, std::int64_t k) {
  ConvProblem problem;
  problem.in = {S, f, Vec3::cube(n)};
  problem.f_out = f_out;
  problem.k = Vec3::cube(k);
  return problem;
}

TEST(ConvFftModel, IsPositiveAndFiniteForAnything) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    test::Random random(seed);
    const ConvProblem problem = test::random_conv(random);
    for (const int threads : {1, 2, 72}) {
      for (const Seconds time :
           {task_parallel_seconds(problem, machine(threads)), data_parallel_seconds(problem, machine(threads))}) {
        EXPECT_GT(time, 0) << to_string(LayerProblem(problem));
        EXPECT_TRUE(std::isfinite(time)) << to_string(LayerProblem(problem));
      }
    }
  }
}

TEST(ConvFftModel, IsBoundedByItsProducts) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    test::Random random(seed);
    const ConvProblem problem = test::random_conv(random);
    for (const int threads : {1, 2, 72}) {
      const Seconds bound = min_fft_seconds(problem, machine(threads));
      EXPECT_GT(bound, 0);
      EXPECT_LE(bound, task_parallel_seconds(problem, machine(threads))) << to_string(LayerProblem(problem));
      EXPECT_LE(bound, data_parallel_seconds(problem, machine(threads))) << to_string(LayerProblem(problem));
    }
  }
}

TEST(ConvFftModel, GrowsWithChannelsExtentAndMaps) {
  for (const auto seconds : {&task_parallel_seconds, &data_parallel_seconds}) {
    const Seconds base = seconds(layer(1, 16, 16, 32, 5), machine(2));
    EXPECT_GT(seconds(layer(2, 16, 16, 32, 5), machine(2)), base);
    EXPECT_GT(seconds(layer(1, 32, 16, 32, 5), machine(2)), 1.5 * base);
    EXPECT_GT(seconds(layer(1, 16, 32, 32, 5), machine(2)), 1.5 * base);
    EXPECT_GT(seconds(layer(1, 16, 16, 64, 5), machine(2)), 4 * base);
    EXPECT_LT(seconds(layer(1, 16, 16, 32, 5), machine(4)), base);
  }
}

TEST(ConvFftModel, AResidualCostsItsReading) {
  const ConvProblem plain = layer(1, 80, 80, 64, 5);
  ConvProblem fused = plain;
  fused.residual = true;
  const DeviceSpec spec = machine(2);
  const Seconds reading = 4.0 * 80 * 60 * 60 * 60 / spec.bytes_per_second;
  EXPECT_NEAR(task_parallel_seconds(fused, spec) - task_parallel_seconds(plain, spec), reading, 1e-9);
  EXPECT_NEAR(data_parallel_seconds(fused, spec) - data_parallel_seconds(plain, spec), reading, 1e-9);
}

TEST(ConvFftModel, AnExponentialCostsItsArithmetic) {
  const ConvProblem plain = layer(1, 80, 3, 64, 5);
  ConvProblem curved = plain;
  curved.activation.kind = ActivationKind::sigmoid;
  const DeviceSpec spec = machine(2);
  const Seconds activating = 3.0 * 60 * 60 * 60 * exponential_flops(spec) / spec.flops_per_second;
  EXPECT_NEAR(task_parallel_seconds(curved, spec) - task_parallel_seconds(plain, spec), activating, 1e-9);
  EXPECT_NEAR(data_parallel_seconds(curved, spec) - data_parallel_seconds(plain, spec), activating, 1e-9);
}

TEST(ConvFftModel, HardlyDependsOnTheKernel) {
  const DeviceSpec spec = machine(2);
  EXPECT_LT(task_parallel_seconds(layer(1, 80, 80, 64, 9), spec),
            1.5 * task_parallel_seconds(layer(1, 80, 80, 64, 3), spec));
}

// Section IV.A.2: the data-parallel algorithm is faster if f = S = 1, the task-parallel one in later layers.
TEST(ConvFftModel, RanksTheTwoAlgorithmsAsThePaperFound) {
  const DeviceSpec spec = machine(18);
  EXPECT_LT(data_parallel_seconds(layer(1, 1, 80, 200, 5), spec), task_parallel_seconds(layer(1, 1, 80, 200, 5), spec));
  EXPECT_LT(task_parallel_seconds(layer(1, 80, 80, 48, 5), spec), data_parallel_seconds(layer(1, 80, 80, 48, 5), spec));
}

}  // namespace
}  // namespace znni::cpu
