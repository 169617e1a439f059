#include "planner/divided_ways.hpp"

#include <gtest/gtest.h>

#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/random_network.hpp"
#include "tests/server/pipeline/split_plan.hpp"
#include "tests/support/host_sim.hpp"

namespace znni {
namespace {

constexpr std::int64_t much = std::int64_t{1} << 40;

class DividedWaysTest : public testing::Test {
 protected:
  Network network_ = test::simple_network(1);  // conv pool conv
  Geometry geometry_ = make_geometry(network_, test::choice_of(network_, PoolMode::fragments, 2)).value();
  Catalogue catalogue_ = test::split_catalogue();
  std::unique_ptr<CostSource> costs_ = modelled_costs();
  DeviceSpec cpu_spec_;
  DeviceSpec gpu_spec_ = test::host_sim_spec();
  FastestWays cpu_{DeviceKind::cpu, cpu_spec_, catalogue_, *costs_};
  DividedWays ways_{geometry_, catalogue_, gpu_spec_, cpu_};
};

TEST_F(DividedWaysTest, ConvolutionsAreDividedAndOthersRunOnTheCpu) {
  for (int node = 0; node < 3; ++node) {
    const Step step = ways_.fastest(node, {much, much, much}).value();
    EXPECT_EQ(step.node, node);
    EXPECT_EQ(step.division.empty(), node == 1);
    const DeviceKind kind = node == 1 ? DeviceKind::cpu : DeviceKind::gpu;
    EXPECT_EQ(catalogue_.find(step.primitive)->device, kind);
  }
}

TEST_F(DividedWaysTest, NothingIsFasterThanTheLeast) {
  for (const double rate : {1e6, 1e9, 1e13}) {
    gpu_spec_.accelerator.staging_bytes_per_second = rate;
    gpu_spec_.flops_per_second = 1e15;
    for (int node = 0; node < 3; ++node) {
      DividedWays ways(geometry_, catalogue_, gpu_spec_, cpu_);
      const Seconds least = ways.least_seconds(node);
      EXPECT_GT(least, 0);
      EXPECT_LE(least, ways.fastest(node, {much, much, much}).value().seconds) << node << " at " << rate;
    }
  }
}

TEST_F(DividedWaysTest, LessMemoryIsNeverFasterUntilThereIsTooLittle) {
  Seconds before = 0;
  for (std::int64_t bytes = much; bytes > 0; bytes /= 8) {
    const Result<Step> step = ways_.fastest(0, {much, bytes, bytes});
    if (!step) {
      EXPECT_EQ(step.error().code, ErrorCode::over_budget);
      return;
    }
    EXPECT_GE(step->seconds, before);
    before = step->seconds;
  }
  FAIL() << "no byte is enough";
}

}  // namespace
}  // namespace znni
