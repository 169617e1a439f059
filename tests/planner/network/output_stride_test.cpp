#include "planner/network/output_stride.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace znni {
namespace {

using testing::HasSubstr;

// Returns a pooling by 4, a nearest upsampling by 4, and a crop if it is `cropped`.
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
  network.nodes.push_back({"soft", AcrossChannels{}, {5}});
  EXPECT_EQ(failure(network, {4, 4, 4}), "");
  network.nodes.push_back({"class", AcrossChannels{AcrossKind::arg_max}, {6}});
  EXPECT_EQ(failure(network, {4, 4, 4}), "");
  network.nodes.push_back({"conv", Convolution{}, {7}});
  EXPECT_NE(failure(network, {4, 4, 4}), "");
}

TEST(PlannerOutputStride, NothingElseRepeats) {
  EXPECT_EQ(failure(repeated(UpsampleKind::linear, false), {1, 1, 1}), "");
  EXPECT_THAT(failure(repeated(UpsampleKind::linear, false), {2, 2, 2}), HasSubstr("a last upsampling, 1x1x1"));
  Network cropped_input;
  cropped_input.nodes = {{"crop", Crop{{}, Vec3::cube(1)}, {0}}};
  EXPECT_THAT(failure(cropped_input, {1, 1, 2}), HasSubstr("a last upsampling, 1x1x1"));
}

// Joins 1, 2 and 1 channels: the input, repeated, and as it is again; behind the Concat stands an activation.
Network supervised() {
  Network network;
  network.nodes = {{"pool", Pooling{PoolKind::max, Vec3::cube(4), Vec3::cube(4), true}, {0}},
                   {"low", Convolution{2, Vec3::cube(1), Vec3::cube(1), {}}, {1}},
                   {"up", Upsample{Vec3::cube(4)}, {2}},
                   {"join", Concat{}, {0, 3, 0}},
                   {"act", Activate{}, {4}}};
  network.outputs = {{"a", 1}, {"b", 2, Vec3::cube(4)}, {"c", 1}};
  return network;
}

TEST(PlannerOutputStride, EachOfSeveralOutputsHasItsOwn) {
  EXPECT_EQ(failure(supervised(), {1, 1, 1}), "");
  EXPECT_EQ(min_output_stride(supervised()), Vec3::cube(1));
  EXPECT_TRUE(outputs_differ_in_stride(supervised().outputs));
  EXPECT_THAT(failure(supervised(), {2, 2, 2}), HasSubstr("an output stride of 2x2x2 does not divide"));
  Network network = supervised();
  for (const Vec3 wrong : {Vec3{4, 8, 4}, Vec3{4, 0, 4}, Vec3{4, 3, 4}}) {
    network.outputs[1].stride = wrong;
    EXPECT_THAT(failure(network, {1, 1, 1}), HasSubstr("output b: a stride of " + to_string(wrong) + " does not"));
  }
}

TEST(PlannerOutputStride, AnOutputThatIsNotRepeatedHasNone) {
  Network network = supervised();
  network.outputs = {{"a", 1}, {"b", 1, Vec3::cube(2)}, {"c", 2, Vec3::cube(2)}};  // c: of two inputs of the Concat
  EXPECT_THAT(failure(network, {1, 1, 1}), HasSubstr("output c: a stride of 2x2x2"));
  network.nodes.back().operation = AcrossChannels{};
  EXPECT_THAT(failure(network, {1, 1, 1}), HasSubstr("output b: a stride of 2x2x2")) << "it mixes channels";
}

TEST(PlannerOutputStride, OfAllOutputsItComesOnTop) {
  Network network = repeated(UpsampleKind::nearest, false);
  network.f_in = 2;
  network.outputs = {{"a", 1}, {"b", 1}};
  EXPECT_EQ(failure(network, {4, 4, 4}), "");
  network.outputs[1].stride = Vec3::cube(2);
  EXPECT_EQ(failure(network, {2, 2, 2}), "");
  EXPECT_THAT(failure(network, {4, 4, 4}), HasSubstr("output b: a stride of 8x8x8"));
}

TEST(PlannerOutputStride, IsAboveZero) {
  EXPECT_NE(failure(repeated(UpsampleKind::nearest, false), {0, 1, 1}), "");
  EXPECT_NE(failure(repeated(UpsampleKind::nearest, false), {-1, 1, 1}), "");
}

}  // namespace
}  // namespace znni
