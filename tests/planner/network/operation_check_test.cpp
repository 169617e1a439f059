#include "planner/network/operation_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace znni {
namespace {

using testing::HasSubstr;

constexpr Vec3 ones = Vec3::cube(1);

std::string verdict(const Result<void>& checked) { return checked ? "sound" : checked.error().message; }

Convolution grouped_conv(std::int64_t f_out, std::int64_t groups) { return {f_out, ones, ones, {}, ones, groups}; }

// Returns the answer for inputs of so many channels each, where the input of the network has them.
std::string met(const Operation& operation, const std::vector<std::int64_t>& channels) {
  std::vector<InputValue> inputs;
  for (const std::int64_t f : channels) inputs.push_back({"value " + std::to_string(inputs.size()), {}, f});
  return verdict(check_meeting(operation, inputs));
}

TEST(PlannerOperationCheck, NumbersOutOfBoundsAreNamed) {
  EXPECT_EQ(verdict(check_operation(grouped_conv(0, 1), 3)), "f_out = 0 is not in [1, 2^24]");
  EXPECT_EQ(verdict(check_operation(Pooling{PoolKind::max, {2, 2, 2}}, 2)), "window.z = 2 is not in [1, 1]");
  EXPECT_EQ(verdict(check_operation(Crop{{}, {0, 0, -1}}, 3)), "end.x = -1 is not in [0, 1048576]");
  EXPECT_EQ(verdict(check_operation(Upsample{{1, 0, 1}}, 3)), "factor.y = 0 is not in [1, 1048576]");
  EXPECT_EQ(verdict(check_operation(Norm{1, 0.0F}, 3)), "epsilon is not above 0");
  EXPECT_EQ(verdict(check_operation(Concat{}, 1)), "sound");
}

TEST(PlannerOperationCheck, BordersAreZeroAlongAxesThatTheRankLacks) {
  EXPECT_EQ(verdict(check_border("frame", {{0, 1, 1}, {0, 2, 0}}, 2)), "sound");
  EXPECT_EQ(verdict(check_border("frame", {{}, {1, 0, 0}}, 2)), "frame.end.z = 1 is not in [0, 0]");
}

TEST(PlannerOperationCheck, OperationsHaveTheirNumberOfInputs) {
  EXPECT_EQ(verdict(check_input_count(Add{{}}, 1)), "has 1 inputs; it needs 2 or more");
  EXPECT_EQ(verdict(check_input_count(Concat{}, 5)), "sound");
  EXPECT_EQ(verdict(check_input_count(Multiply{}, 3)), "has 3 inputs; it needs 2");
  EXPECT_EQ(verdict(check_input_count(grouped_conv(1, 1), 2)), "sound");
  EXPECT_EQ(verdict(check_input_count(grouped_conv(1, 1), 3)),
            "has 3 inputs; it needs 1, or 2 where a residual is added");
  EXPECT_EQ(verdict(check_input_count(Crop{}, 0)), "has 0 inputs; it needs 1");
}

TEST(PlannerOperationCheck, ChannelsSuitTheOperation) {
  EXPECT_EQ(met(Add{{}}, {4, 4, 4}), "sound");
  EXPECT_EQ(met(Add{{}}, {4, 4, 3}), "adds 4 channels of value 0 to 3 of value 2");
  EXPECT_EQ(met(Multiply{}, {4, 1}), "sound");
  EXPECT_EQ(met(Divide{}, {4, 1}), "sound");
  EXPECT_THAT(met(Divide{}, {4, 2}), HasSubstr("divides 4 channels of value 0 by 2 of value 1"));
  EXPECT_THAT(met(Multiply{}, {4, 2}), HasSubstr("multiplies 4 channels of value 0 by 2 of value 1"));
  EXPECT_EQ(met(Concat{}, {4, 1}), "sound");
  EXPECT_THAT(met(grouped_conv(6, 4), {8}),
              HasSubstr("groups = 4 does not divide the 8 channels of its input and the 6"));
  EXPECT_EQ(met(grouped_conv(6, 2), {8, 6}), "sound");
  EXPECT_EQ(met(grouped_conv(6, 2), {8, 5}), "adds 5 channels of value 1 to 6 of its own");
  EXPECT_EQ(met(Norm{3}, {4}), "normalises 4 channels in 3 groups, which does not divide");
}

TEST(PlannerOperationCheck, BranchesMeetWithEqualReach) {
  const std::vector<InputValue> inputs = {{"a", {}, 4}, {"b", {Vec3::cube(3), ones}, 4}};
  for (const Operation& operation :
       {Operation(Add{{}}), Operation(Multiply{}), Operation(Divide{}), Operation(Concat{})}) {
    EXPECT_EQ(verdict(check_meeting(operation, inputs)),
              "branches do not meet: a has field of view 1x1x1, stride 1x1x1, b has field of view 3x3x3, stride 1x1x1");
  }
  EXPECT_THAT(verdict(check_meeting(grouped_conv(4, 1), inputs)), HasSubstr("its sums have field of view 1x1x1"));
}

TEST(PlannerOperationCheck, UpsamplingsGiveBackStridesAndShuffleWholeGroups) {
  const auto of_stride = [](std::int64_t stride, std::int64_t f) {
    return std::vector<InputValue>{{"a", {ones, Vec3::cube(stride)}, f}};
  };
  const Upsample shuffle{Vec3::cube(2), UpsampleKind::shuffle};
  EXPECT_EQ(verdict(check_meeting(shuffle, of_stride(2, 16))), "sound");
  EXPECT_THAT(verdict(check_meeting(shuffle, of_stride(1, 16))), HasSubstr("an output finer than the input"));
  EXPECT_EQ(verdict(check_meeting(shuffle, of_stride(2, 12))),
            "shuffles 12 channels to 8 voxels each, which does not divide");
}

}  // namespace
}  // namespace znni
