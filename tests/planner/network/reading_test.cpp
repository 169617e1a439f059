#include "planner/network/reading.hpp"

#include <gtest/gtest.h>

namespace znni {
namespace {

constexpr Vec3 ones = Vec3::cube(1);

TEST(PlannerReading, ConvolutionsReadTheirDilatedWindow) {
  const Convolution conv{4, {1, 2, 3}, {1, 3, 2}, {}, {1, 1, 2}};
  const Reading reading = reading_of(conv);
  EXPECT_EQ(reading.window, (Vec3{1, 4, 5}));
  EXPECT_EQ(reading.stride, (Vec3{1, 1, 2}));
  EXPECT_EQ(reading.factor, ones);
  EXPECT_TRUE(is_resized(reading));
  EXPECT_FALSE(is_resized(reading_of(Convolution{4, {1, 2, 3}, {1, 3, 2}, {}})));
}

TEST(PlannerReading, DensePoolingsAreComputedAtEveryOffset) {
  const Pooling dense{PoolKind::max, {3, 2, 2}, {2, 2, 1}};
  EXPECT_EQ(reading_of(dense).stride, (Vec3{2, 2, 1}));
  EXPECT_FALSE(is_resized(reading_of(dense)));
  EXPECT_EQ(step_of(reading_of(dense)), ones);
  Pooling strided = dense;
  strided.strided = true;
  EXPECT_EQ(step_of(reading_of(strided)), (Vec3{2, 2, 1}));
  EXPECT_TRUE(is_resized(reading_of(strided)));
  EXPECT_TRUE(is_resized(reading_of(Pooling{PoolKind::max, {3, 2, 2}, ones, true})));
}

TEST(PlannerReading, UpsamplingsWriteVoxelsOfEachWindow) {
  const Reading linear = reading_of(Upsample{{1, 2, 4}, UpsampleKind::linear});
  EXPECT_EQ(linear.window, (Vec3{1, 3, 3}));
  EXPECT_EQ(linear.factor, (Vec3{1, 2, 4}));
  EXPECT_EQ(step_of(linear), ones);
  EXPECT_EQ(reading_of(Upsample{{1, 2, 4}}).window, ones);
  EXPECT_TRUE(is_resized(reading_of(Upsample{ones})));
}

// A rule that gives no more than its stride or its factor is that of a network with strides of its own.
TEST(PlannerReading, StridesAreTheNetworksOwnUnlessAPoolingIsDense) {
  const Reading strided{{3, 3, 3}, {1, 2, 1}};
  EXPECT_TRUE(is_resized(strided));
  EXPECT_EQ(step_of(strided), (Vec3{1, 2, 1}));
  EXPECT_TRUE(is_resized(Reading{ones, ones, {1, 1, 2}}));
  EXPECT_FALSE(is_resized(Reading{{3, 3, 3}}));
}

TEST(PlannerReading, StacksReadTheWindowsOfAllPoolingsAndPadThemselves) {
  const StackStage pool{StackOperation::pool, PoolKind::max, {1, 3, 4}, {0, 1, 0}, {0, 0, 2}, {}};
  const Reading stack = reading_of(Stack{{pool, {StackOperation::scale_shift}, pool}});
  EXPECT_EQ(stack.window, (Vec3{1, 5, 7}));
  EXPECT_EQ(stack.padding, (Border{{0, 2, 0}, {0, 0, 4}}));
  EXPECT_EQ(stack.idle, Border{});
  EXPECT_FALSE(is_resized(stack));
  EXPECT_EQ(reading_of(Pooling{}).padding, Border{});
}

TEST(PlannerReading, CropsPassOverAllVoxelsOfTheirWindowButOne) {
  const Reading crop = reading_of(Crop{{1, 0, 2}, {0, 3, 1}});
  EXPECT_EQ(crop.window, (Vec3{2, 4, 4}));
  EXPECT_EQ(crop.idle, (Border{{1, 0, 2}, {0, 3, 1}}));
  EXPECT_EQ(crop.window - crop.idle.begin - crop.idle.end, ones);
}

TEST(PlannerReading, WhatWorksVoxelByVoxelReadsOne) {
  for (const Operation& operation :
       {Operation(Activate{{ActivationKind::relu}}), Operation(AcrossChannels{}), Operation(ScaleShift{}),
        Operation(PRelu{}), Operation(Add{{}}), Operation(Multiply{}), Operation(Divide{}), Operation(Concat{}),
        Operation(Norm{}), Operation(GlobalPool{})}) {
    const Reading reading = reading_of(operation);
    EXPECT_EQ(reading.window, ones);
    EXPECT_EQ(reading.stride, ones);
    EXPECT_EQ(reading.factor, ones);
    EXPECT_EQ(reading.idle, Border{});
    EXPECT_FALSE(is_resized(reading));
  }
}

}  // namespace
}  // namespace znni
