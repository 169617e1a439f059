#include "tests/bench/rates/machine_rates.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/bench/rates/fma_chains.hpp"
#include "tests/support/cpu.hpp"

namespace znni::bench {
namespace {

// Returns the sum of the chains, computed lane after lane.
double chains_slowly(const FmaChains& chains, int rounds, double seed) {
  double sum = 0;
  for (int i = 0; i < chains.chains * chains.lanes; ++i) {
    double value = seed * i;
    for (int round = 0; round < rounds; ++round) value = value * (1 - seed * 1e-3) + seed * 1e-3;
    sum += value;
  }
  return sum;
}

TEST(BenchMachineRates, ChainsDoEveryMultiplyAdd) {
  for (const int simd_floats : {4, 8, 16}) {
    if (simd_floats > cpu::describe_cpu(1).simd_floats) continue;
    const FmaChains chains = fma_chains(simd_floats);
    EXPECT_EQ(chains.flops(), 2.0 * chains.chains * chains.lanes);
    for (const int rounds : {0, 1, 1000}) {
      const double exact = chains_slowly(chains, rounds, 0.5);
      EXPECT_NEAR(chains.run(rounds, 0.5F), exact, 1e-4 * exact) << simd_floats;
    }
  }
}

TEST(BenchMachineRates, ReadsMoreThanTheCachesHold) {
  DeviceSpec spec;
  spec.l3_bytes = 100 << 20;
  EXPECT_EQ(read_block_bytes(spec), 400 << 20);
  spec.l3_bytes = 1;
  EXPECT_EQ(read_block_bytes(spec), 256 << 20);
  spec.l3_bytes = std::int64_t{1} << 40;
  EXPECT_EQ(read_block_bytes(spec), 1 << 30);
}

TEST(BenchMachineRates, AreFiniteAndGiveTheirMemoryBack) {
  const std::unique_ptr<Device> device = test::open_cpu(1);
  const Result<MachineRates> rates = measure_machine(*device);
  ASSERT_TRUE(rates) << rates.error().message;
  EXPECT_TRUE(rates->flops_per_second > 0 && std::isfinite(rates->flops_per_second));
  EXPECT_TRUE(rates->read_bytes_per_second > 0 && std::isfinite(rates->read_bytes_per_second));
  EXPECT_GE(rates->load, 0);
  EXPECT_EQ(device->reserved(MemorySpace::host), 0);
}

TEST(BenchMachineRates, SayWhatDoesNotFit) {
  const std::unique_ptr<Device> device = test::open_cpu(1, 0, 1 << 20);
  const Result<MachineRates> rates = measure_machine(*device);
  ASSERT_FALSE(rates);
  EXPECT_EQ(rates.error().code, ErrorCode::over_budget);
}

}  // namespace
}  // namespace znni::bench
