#include "planner/split/divided_ways.hpp"

#include <gtest/gtest.h>

#include <limits>

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
  LeastDividedTimes known_;
  DividedWays ways_{geometry_, catalogue_, gpu_spec_, cpu_, known_};
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
      known_.clear();
      DividedWays ways(geometry_, catalogue_, gpu_spec_, cpu_, known_);
      EXPECT_GT(ways.copy_seconds(node), 0);
      const Seconds least = ways.min_seconds(node);
      EXPECT_GE(least, ways.copy_seconds(node));
      EXPECT_LE(least, ways.fastest(node, {much, much, much}).value().seconds) << node << " at " << rate;
      EXPECT_FALSE(ways.fastest(node, {much, much, much}, least) && node != 1);
    }
  }
}

// Matrix units that are worth two reorders, on the GPU: the tensors stay planar.
TEST_F(DividedWaysTest, PartsAreReorderedWhereThatIsFaster) {
  gpu_spec_.bytes_per_second = 1e12;
  gpu_spec_.accelerator.tf32_flops_per_second = 4e12;
  gpu_spec_.accelerator.bf16_flops_per_second = 1e13;
  Seconds before = ways_.fastest(0, {much, much, much}).value().seconds;
  for (const Precision precision : {Precision::tf32, Precision::bf16}) {
    known_.clear();
    DividedWays ways(geometry_, catalogue_, gpu_spec_, cpu_, known_, much, precision);
    const Step step = ways.fastest(0, {much, much, much}).value();
    EXPECT_EQ(step.primitive, "sim.conv_matrix");
    EXPECT_EQ(step.in, edge_formats(precision).back());
    EXPECT_EQ(step.native, step.in);
    EXPECT_EQ(step.reorder, "sim.reorder");
    EXPECT_EQ(step.out, planar_f32);
    EXPECT_EQ(precision_of(step), precision);
    EXPECT_LT(step.seconds, before);
    EXPECT_LE(ways.min_seconds(0), step.seconds);
    before = step.seconds;
  }
}

// Known times serve a search that asks for less or the same; others ask the divisions again.
TEST_F(DividedWaysTest, LeastTimesAreWorkedOutOnce) {
  const Seconds least = ways_.min_seconds(0);
  const ConvProblem& conv = std::get<ConvProblem>(geometry_.problems[0]);
  ASSERT_EQ(known_.size(), 1U);
  EXPECT_EQ(known_.at(conv).seconds, least);
  const auto min_below = [&](Seconds below) {
    return DividedWays(geometry_, catalogue_, gpu_spec_, cpu_, known_, below).min_seconds(0);
  };
  EXPECT_EQ(min_below(2 * least), least);
  EXPECT_EQ(min_below(least), std::numeric_limits<Seconds>::infinity());
  known_.clear();
  EXPECT_EQ(min_below(least), std::numeric_limits<Seconds>::infinity());
  EXPECT_EQ(min_below(least / 2), std::numeric_limits<Seconds>::infinity());
  EXPECT_EQ(known_.at(conv).below, least) << "nothing was asked again";
  EXPECT_EQ(min_below(2 * least), least);
}

TEST_F(DividedWaysTest, StoppedSearchesTeachNothing) {
  const auto stop = [] { return true; };
  DividedWays ways(geometry_, catalogue_, gpu_spec_, cpu_, known_, much, Precision::fp32, stop);
  static_cast<void>(ways.min_seconds(0));
  EXPECT_TRUE(known_.empty());
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
