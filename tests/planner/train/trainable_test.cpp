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
  const Node first{"a", conv(2, 1), {0}};
  EXPECT_THAT(refusal_of_nodes({first, {"ln", AcrossChannels{AcrossKind::norm}, {1}}}), HasSubstr("node 'ln' is a"));
  EXPECT_THAT(refusal_of_nodes({first, {"norm", Norm{2}, {1}}}), HasSubstr("node 'norm' is a"));
  EXPECT_THAT(refusal_of_nodes({first, {"mean", GlobalPool{}, {1}}}), HasSubstr("node 'mean' is a"));
  EXPECT_THAT(refusal_of_nodes({first, {"inside", Pooling{PoolKind::average_inside}, {1}}}),
              HasSubstr("node 'inside' is a average pooling"));
  EXPECT_THAT(refusal_of_nodes({first, {"top", AcrossChannels{AcrossKind::arg_max}, {1}}}),
              HasSubstr("node 'top' is a"));
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
