#include "planner/train/trainable.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/network/padding.hpp"

namespace znni {
namespace {

using testing::HasSubstr;

Convolution conv(std::int64_t f, std::int64_t k) { return {f, Vec3::cube(k), Vec3::cube(1), {}}; }

std::string refusal_of(const Network& network) {
  const Result<void> checked = check_trainable(network);
  return checked ? "" : checked.error().message;
}

std::string refusal_of_nodes(std::vector<Node> nodes) {
  Network net;
  net.name = "net";
  net.nodes = std::move(nodes);
  return refusal_of(net);
}

TEST(Trainable, RefusesWhatCannotBeTrainedByName) {
  EXPECT_THAT(refusal_of_nodes({{"a", Pooling{}, {0}}}), HasSubstr("network net has no convolution"));
  const auto refusal_of_second = [](Operation operation, std::vector<int> inputs = {1}) {
    return refusal_of_nodes({{"a", conv(2, 1), {0}}, {"b", std::move(operation), std::move(inputs)}});
  };
  const auto words = [](const std::string& noun) {
    return "training has no gradient of node 'b', " + noun +
           "; znnid serves it; to train, replace it by layers that docs/training/README.md lists";
  };
  EXPECT_EQ(refusal_of_second(AcrossChannels{AcrossKind::norm}), words("layer normalisation"));
  EXPECT_EQ(refusal_of_second(AcrossChannels{AcrossKind::unit}), words("normalisation to unit length"));
  EXPECT_EQ(refusal_of_second(AcrossChannels{AcrossKind::arg_max}), words("largest channel"));
  EXPECT_EQ(refusal_of_second(Norm{2}), words("normalisation"));
  EXPECT_EQ(refusal_of_second(GlobalPool{}), words("global pooling"));
  EXPECT_EQ(refusal_of_second(Attention{}, {1, 1, 1}), words("attention"));
  EXPECT_EQ(refusal_of_second(AddVolume{}), words("sum with a volume"));
  EXPECT_EQ(refusal_of_second(Upsample{Vec3::cube(1), UpsampleKind::aligned}),
            words("upsampling with aligned corners"));
  const StackStage stage{StackOperation::pool, PoolKind::max, Vec3::cube(2)};
  EXPECT_EQ(refusal_of_second(Stack{{stage, stage}}),
            "training has no gradient of node 'b', stack of poolings; write its stages as nodes of their own");
  EXPECT_EQ(refusal_of_second(Pooling{PoolKind::max, Vec3::cube(7)}),
            "training has no gradient of node 'b', max pooling with a window of 343 voxels; at most 256 are right: "
            "write a pooling for each axis in its place");
  EXPECT_EQ(refusal_of_second(Pooling{PoolKind::average_inside}),
            "training has no gradient of node 'b', average pooling of what lies inside, with a stride, where nothing "
            "pads; leave out inside: all is inside there");
}

TEST(Trainable, TakesSlopesProductsAndStrides) {
  const Node first{"a", conv(2, 1), {0}};
  const Pooling dilated{PoolKind::max, Vec3::cube(2), Vec3::cube(1), false, Vec3::cube(2)};
  EXPECT_EQ(refusal_of_nodes({first, {"filter", dilated, {1}}}), "");
  EXPECT_EQ(refusal_of_nodes({first, {"quotient", Divide{}, {1, 1}}}), "");
  const Pooling inside{PoolKind::average_inside, Vec3::cube(3), Vec3::cube(1)};
  EXPECT_EQ(refusal_of_nodes({first, {"mean", inside, {1}}}), "");
  const Pooling halved{PoolKind::average_inside, Vec3::cube(2), Vec3::cube(2), true};
  EXPECT_EQ(refusal_of_nodes({first, {"mean", halved, {1}}, {"up", Upsample{}, {2}}}), "");
  EXPECT_EQ(refusal_of_nodes({first, {"slopes", PRelu{}, {1}}, {"product", Multiply{}, {1, 2}}}), "");
  const Convolution strided{2, Vec3::cube(2), Vec3::cube(1), {}, Vec3::cube(2)};
  EXPECT_EQ(refusal_of_nodes({{"a", strided, {0}}, {"b", Upsample{}, {1}}}), "");
}

// Returns two convolutions, the second of which reads such voxels around what the first writes.
Network padded(OutsideKind kind) {
  Network net;
  net.nodes = {{"a", conv(2, 3), {0}}, {"b", conv(2, 3), {1}}};
  const Border one{Vec3::cube(1), Vec3::cube(1)};
  Network valid = without_padding({net, {}}, {one, one}).value().network;
  valid.nodes[0].outside_kind = kind;
  valid.min_volume = Vec3::cube(4);
  return valid;
}

TEST(Trainable, TakesPadsOfAllKinds) {
  EXPECT_EQ(refusal_of(padded(OutsideKind::zero)), "");
  EXPECT_EQ(refusal_of(padded(OutsideKind::edge)), "");
  EXPECT_EQ(refusal_of(padded(OutsideKind::reflect)), "");
}

TEST(Trainable, ConvolutionsAndSlopesAreWeights) {
  EXPECT_TRUE(has_weights({"a", conv(1, 1), {0}}));
  EXPECT_TRUE(has_weights({"a", PRelu{}, {0}}));
  EXPECT_TRUE(has_weights({"a", ScaleShift{}, {0}}));
  EXPECT_FALSE(has_weights({"a", Pooling{}, {0}}));
}

}  // namespace
}  // namespace znni
