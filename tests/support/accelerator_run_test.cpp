#include "tests/support/accelerator_run.hpp"

#include <gtest/gtest.h>

#include "tests/support/host_sim.hpp"
#include "tests/support/sim_primitives.hpp"

namespace znni::test {
namespace {

const ConvProblem small_conv{.in = {1, 2, {4, 4, 4}}, .f_out = 2, .k = {2, 2, 2}, .activation = {}};

TEST(AcceleratorRun, ReservesWhatTheEstimateDeclaresAndGivesItBack) {
  HostSim gpu;
  {
    const Estimate estimate = sim_conv().describe(small_conv, gpu.spec()).value().front();
    const std::vector<float> kernels(2 * 2 * 8, 1.0F);
    const LayerWeights weights{kernels, {}, {}, {}};
    const auto run = AcceleratorRun::make(small_conv, estimate, gpu, [&](Arena& persistent) {
      return sim_conv().prepare(small_conv, estimate, weights, persistent, gpu);
    });
    ASSERT_TRUE(run) << run.error().message;
    const std::vector<std::vector<float>> ones = {std::vector<float>(128, 1.0F)};
    EXPECT_EQ((*run)->run(ones).value(), std::vector<float>(54, 16.0F));
    EXPECT_TRUE((*run)->held_what_was_declared());
    EXPECT_EQ(gpu.reserved(MemorySpace::device), pack(estimate.memory, MemorySpace::device).bytes + 128 + 64);
  }
  EXPECT_EQ(gpu.reserved(MemorySpace::device), 0);
}

TEST(AcceleratorRun, ReportsWhatCannotBeReserved) {
  HostSimOptions options;
  options.device_budget = 512;
  HostSim gpu(options);
  const Estimate estimate = sim_conv().describe(small_conv, gpu.spec()).value().front();
  const auto run =
      AcceleratorRun::make(small_conv, estimate, gpu, [&](Arena&) -> Result<std::unique_ptr<PreparedLayer>> {
        return Error{ErrorCode::internal, "not reached"};
      });
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code, ErrorCode::over_budget);
}

}  // namespace
}  // namespace znni::test
