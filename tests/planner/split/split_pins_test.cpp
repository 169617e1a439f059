#include "planner/split/split_pins.hpp"

#include <gtest/gtest.h>

#include "tests/planner/drawn_primitives.hpp"

namespace znni {
namespace {

CutLimits cuts(const Network& network, SplitStrategy strategy, const std::string& theta) {
  Pins pins;
  pins.theta = theta;
  return pinned_cuts(network, strategy, pins).value();
}

std::string refused(const Network& network, SplitStrategy strategy, const std::string& theta) {
  Pins pins;
  pins.theta = theta;
  const Result<CutLimits> limits = pinned_cuts(network, strategy, pins);
  EXPECT_FALSE(limits);
  return limits ? "" : limits.error().message;
}

TEST(PlannerSplitPins, WithoutThetaTheStrategyAloneLimitsCuts) {
  EXPECT_FALSE(cuts(drawn::chain(), SplitStrategy::gpu, "").until);
  EXPECT_FALSE(cuts(drawn::chain(), SplitStrategy::gpu, "").head);
  EXPECT_FALSE(cuts(drawn::chain(), SplitStrategy::gpu, "").host_ram);
  EXPECT_FALSE(cuts(drawn::chain(), SplitStrategy::gpu_host_ram, "").head);
  EXPECT_TRUE(cuts(drawn::chain(), SplitStrategy::cpu_gpu, "").head);
  EXPECT_TRUE(cuts(drawn::chain(), SplitStrategy::cpu_gpu, "").host_ram);
}

TEST(PlannerSplitPins, ThetaIsANumberOrALayer) {
  EXPECT_EQ(cuts(drawn::chain(), SplitStrategy::gpu, "0").until, 0);
  EXPECT_EQ(cuts(drawn::chain(), SplitStrategy::cpu_gpu, "2").until, 2);
  EXPECT_EQ(cuts(drawn::chain(), SplitStrategy::cpu_gpu, "conv2").until, 2);
  EXPECT_EQ(cuts(drawn::chain(), SplitStrategy::gpu_host_ram, "5").until, 5);
}

TEST(PlannerSplitPins, NamesWhatTheNetHas) {
  EXPECT_EQ(refused(drawn::chain(), SplitStrategy::cpu_gpu, "9"),
            "--theta 9: chain has 5 layers (conv1 to conv3); write a number from 0 to 5 or a layer's name");
  EXPECT_NE(refused(drawn::chain(), SplitStrategy::cpu_gpu, "-1").find("--theta -1: "), std::string::npos);
  EXPECT_NE(refused(drawn::chain(), SplitStrategy::cpu_gpu, "conv9").find("--theta conv9: "), std::string::npos);
  EXPECT_NE(refused(drawn::chain(), SplitStrategy::gpu, "1").find("gpu-host-ram"), std::string::npos);
}

// conv1's value is read by left, sum and all.
TEST(PlannerSplitPins, NamesTheNearestCuts) {
  EXPECT_EQ(refused(drawn::branches(), SplitStrategy::cpu_gpu, "sum"),
            "--theta sum: more than one tensor is alive before sum; the nearest that fit: 1 and 4");
  EXPECT_EQ(cuts(drawn::branches(), SplitStrategy::cpu_gpu, "4").until, 4);
}

TEST(PlannerSplitPins, PoolingsHoldNothing) {
  Pins pins;
  EXPECT_TRUE(check_split_modes(pins));
  pins.modes = {PoolMode::plain, PoolingMode({2, 1, 1}, false), PoolMode::fragments};
  EXPECT_TRUE(check_split_modes(pins));
  pins.modes[1].held = true;
  const Result<void> held = check_split_modes(pins);
  ASSERT_FALSE(held);
  EXPECT_NE(held.error().message.find("--modes max,mpf:2x1x1,mpf: mpf:2x1x1 holds"), std::string::npos);
}

}  // namespace
}  // namespace znni
