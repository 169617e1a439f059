#include "planner/network/output_stride.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace znni {
namespace {

using testing::HasSubstr;

// A pooling by 4, a nearest upsampling by 4, and a crop if it is `cropped`.
Network repeated(UpsampleKind kind, bool cropped) {
  Network network;
  network.nodes = {{"pool", Pooling{PoolKind::max, Vec3::cube(4), Vec3::cube(4), true}, {0}},
                   {"up", Upsample{Vec3::cube(4), kind}, {1}}};
  if (cropped) network.nodes.push_back({"crop", Crop{{}, Vec3::cube(1)}, {2}});
  return network;
}

std::string failure(Network network, Vec3 stride) {
  network.output_stride = stride;
  const Result<void> checked = check_output_stride(network);
  return checked ? "" : checked.error().message;
}

TEST(PlannerOutputStride, IsThatOfALastUpsampling) {
  for (const bool cropped : {false, true}) {
    EXPECT_EQ(failure(repeated(UpsampleKind::nearest, cropped), {4, 2, 1}), "");
    EXPECT_THAT(failure(repeated(UpsampleKind::nearest, cropped), {4, 3, 1}),
                HasSubstr("an output stride of 4x3x1 does not divide the factor of a last upsampling, 4x4x4"));
  }
}

TEST(PlannerOutputStride, ActivationsBehindItChangeNothing) {
  Network network = repeated(UpsampleKind::nearest, true);
  network.nodes.push_back({"scale", ScaleShift{}, {3}});
  network.nodes.push_back({"act", Activate{}, {4}});
  network.nodes.push_back({"soft", Softmax{}, {5}});
  EXPECT_EQ(failure(network, {4, 4, 4}), "");
  network.nodes.push_back({"conv", Convolution{}, {6}});
  EXPECT_NE(failure(network, {4, 4, 4}), "");
}

TEST(PlannerOutputStride, NothingElseRepeats) {
  EXPECT_EQ(failure(repeated(UpsampleKind::linear, false), {1, 1, 1}), "");
  EXPECT_THAT(failure(repeated(UpsampleKind::linear, false), {2, 2, 2}), HasSubstr("a last upsampling, 1x1x1"));
  Network cropped_input;
  cropped_input.nodes = {{"crop", Crop{{}, Vec3::cube(1)}, {0}}};
  EXPECT_THAT(failure(cropped_input, {1, 1, 2}), HasSubstr("a last upsampling, 1x1x1"));
}

TEST(PlannerOutputStride, IsAboveZero) {
  EXPECT_NE(failure(repeated(UpsampleKind::nearest, false), {0, 1, 1}), "");
  EXPECT_NE(failure(repeated(UpsampleKind::nearest, false), {-1, 1, 1}), "");
}

}  // namespace
}  // namespace znni
