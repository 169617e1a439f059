#include "planner/network/operation_traits.hpp"

#include <gtest/gtest.h>

namespace znni {
namespace {

TEST(PlannerOperationTraits, OperationsAreCalledByTheirKinds) {
  EXPECT_EQ(traits_of(Pooling{PoolKind::average}).noun, "average pooling");
  EXPECT_EQ(traits_of(AcrossChannels{AcrossKind::arg_max}).kind, "arg_max");
  EXPECT_EQ(traits_of(AcrossChannels{AcrossKind::norm}).kind, "channel_norm");
  EXPECT_EQ(traits_of(AcrossChannels{AcrossKind::log_softmax}).kind, "softmax");
  EXPECT_EQ(traits_of(GlobalPool{}).kind, "global_pool");
}

TEST(PlannerOperationTraits, EachPadsWithWhatItReadsThere) {
  EXPECT_EQ(traits_of(Convolution{}).pads_with, OutsideKind::zero);
  EXPECT_EQ(traits_of(Pooling{}).pads_with, OutsideKind::lowest);
  EXPECT_EQ(traits_of(Pooling{PoolKind::average}).pads_with, OutsideKind::zero);
  EXPECT_EQ(traits_of(Crop{}).pads_with, OutsideKind::edge);
  EXPECT_EQ(traits_of(Crop{{}, {}, true}).pads_with, OutsideKind::reflect);
  EXPECT_EQ(traits_of(Upsample{Vec3::cube(2), UpsampleKind::linear}).pads_with, OutsideKind::edge);
  EXPECT_EQ(traits_of(Upsample{Vec3::cube(2), UpsampleKind::nearest}).pads_with, std::nullopt);
  EXPECT_EQ(traits_of(Add{{}}).pads_with, std::nullopt);
}

TEST(PlannerOperationTraits, SomeReadAllVoxels) {
  EXPECT_EQ(traits_of(Norm{}).over_all.does, "normalises over");
  EXPECT_EQ(traits_of(GlobalPool{}).over_all.would, "pool");
  EXPECT_EQ(traits_of(Upsample{Vec3::cube(2), UpsampleKind::aligned}).over_all.would, "align corners of");
  EXPECT_EQ(traits_of(Upsample{}).over_all.does, "");
}

TEST(PlannerOperationTraits, ActivationsAreFusedIntoThoseThatKeepOne) {
  Operation conv = Convolution{4, Vec3::cube(1), Vec3::cube(1), {}};
  Operation sum = Add{{}};
  Operation norm = Norm{};
  for (Operation* const own : {&conv, &sum, &norm}) ASSERT_NE(fused_activation(*own), nullptr);
  *fused_activation(conv) = {ActivationKind::relu};
  EXPECT_EQ(std::get<Convolution>(conv).activation.kind, ActivationKind::relu);
  Operation activate = Activate{{ActivationKind::relu}};
  EXPECT_EQ(fused_activation(activate), nullptr);
}

}  // namespace
}  // namespace znni
