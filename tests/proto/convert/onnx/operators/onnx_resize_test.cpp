#include "proto/convert/onnx/operators/onnx_resize.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using testing::HasSubstr;

// Adds a pooling of stride 1x2x4 and a Resize that gives it back, whose scales are a tensor.
onnx::NodeProto& add_resize(OnnxModel& model, const std::vector<float>& scales = {1, 1, 1, 2, 4}) {
  onnx::NodeProto& pool = model.node("MaxPool", {"in"}, {"low"});
  test::set_integers(pool, "kernel_shape", {1, 2, 4});
  test::set_integers(pool, "strides", {1, 2, 4});
  model.tensor("scales", {static_cast<std::int64_t>(scales.size())}, scales);
  onnx::NodeProto& resize = model.node("Resize", {"low", "", "scales"}, {"out"});
  test::set_text(resize, "coordinate_transformation_mode", "asymmetric");
  test::set_text(resize, "nearest_mode", "floor");
  model.output("out");
  return resize;
}

std::string refusal_with(void (*change)(onnx::NodeProto& resize), const std::vector<float>& scales = {1, 1, 1, 2, 4}) {
  OnnxModel model;
  onnx::NodeProto& resize = add_resize(model, scales);
  resize.clear_attribute();
  change(resize);
  return model.refusal();
}

TEST(OnnxResize, NearestNeighboursByWholeFactors) {
  OnnxModel model;
  add_resize(model);
  const LoadedNetwork loaded = model.read();
  ASSERT_EQ(loaded.network.nodes.size(), 2U);
  EXPECT_EQ(loaded.network.nodes[0].operation, Operation(Pooling{PoolKind::max, {1, 2, 4}, {1, 2, 4}, true}));
  EXPECT_EQ(loaded.network.nodes[1].operation, Operation(Upsample{{1, 2, 4}, UpsampleKind::nearest}));
  EXPECT_EQ(period(loaded.network), (Vec3{1, 2, 4}));
}

TEST(OnnxResize, ExportersFormsMeanTheSame) {
  EXPECT_EQ(refusal_with([](auto& resize) {
              test::set_text(resize, "coordinate_transformation_mode", "half_pixel");
              test::set_text(resize, "nearest_mode", "round_prefer_floor");
            }),
            "");
  EXPECT_EQ(refusal_with([](auto&) {}), "");  // the defaults
  EXPECT_THAT(refusal_with([](auto& resize) { test::set_text(resize, "nearest_mode", "ceil"); }),
              HasSubstr("with nearest_mode = 'ceil' is not supported"));
  EXPECT_THAT(refusal_with([](auto& resize) {
                test::set_text(resize, "coordinate_transformation_mode", "asymmetric");  // voxel 3 of a factor of 4
              }),
              HasSubstr("is not supported"));
}

TEST(OnnxResize, SizesOfDeclaredExtentsAreFactors) {
  OnnxModel model;
  onnx::TensorShapeProto& shape =
      *model.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  for (int axis = 2; axis < 5; ++axis) shape.mutable_dim(axis)->set_dim_value(16);
  onnx::NodeProto& resize = add_resize(model);
  onnx::TensorProto& sizes = *model.proto.mutable_graph()->add_initializer();
  sizes.set_name("sizes");
  sizes.set_data_type(onnx::TensorProto::INT64);
  sizes.add_dims(5);
  for (const std::int64_t size : {1, 1, 16, 16, 16}) sizes.add_int64_data(size);
  resize.set_input(2, "");
  resize.add_input("sizes");
  EXPECT_EQ(model.read().network.nodes[1].operation, Operation(Upsample{{1, 2, 4}, UpsampleKind::nearest}));
  sizes.set_int64_data(1, 2);
  EXPECT_THAT(model.refusal(), HasSubstr("makes 2 of 1 along axis 1; only spatial axes can be resized"));
  sizes.set_int64_data(1, 1);
  sizes.set_int64_data(0, 3);
  EXPECT_THAT(model.refusal(), HasSubstr("makes 3 of 1 along axis 0; only spatial axes can be resized"));
  sizes.set_int64_data(0, 1);
  shape.mutable_dim(3)->clear_value();
  EXPECT_THAT(model.refusal(), HasSubstr("its sizes are constants, but the file leaves the input's extents open"));
  sizes.set_dims(0, 4);
  sizes.mutable_int64_data()->RemoveLast();
  EXPECT_THAT(model.refusal(), HasSubstr("has 4 scales or sizes; 5 are right"));
}

TEST(OnnxResize, LinearInterpolationRepeatsTheBorder) {
  OnnxModel model;
  onnx::NodeProto& resize = add_resize(model);
  resize.clear_attribute();
  test::set_text(resize, "mode", "linear");
  const LoadedNetwork loaded = model.read();
  ASSERT_EQ(loaded.network.nodes.size(), 2U);
  EXPECT_EQ(loaded.network.nodes[1].operation, Operation(Upsample{{1, 2, 4}, UpsampleKind::linear}));
  EXPECT_EQ(loaded.network.nodes[0].outside, (Border{{0, 1, 1}, {0, 1, 1}}));
  EXPECT_EQ(loaded.network.nodes[0].outside_kind, OutsideKind::edge);
  EXPECT_EQ(loaded.network.frame, (Border{{0, 2, 4}, {0, 2, 4}}));
}

TEST(OnnxResize, LinearInterpolationIsBetweenCentresAlone) {
  EXPECT_EQ(refusal_with([](auto& resize) {
              test::set_text(resize, "mode", "linear");
              test::set_text(resize, "coordinate_transformation_mode", "pytorch_half_pixel");
            }),
            "");
  EXPECT_THAT(refusal_with([](auto& resize) {
                test::set_text(resize, "mode", "linear");
                test::set_text(resize, "coordinate_transformation_mode", "half_pixel_symmetric");
              }),
              HasSubstr("'half_pixel_symmetric' with mode = 'linear' is not supported; only half_pixel, asymmetric"));
}

// Voxel v lies at v / factor: of a factor of 2 every other one is the mean of two, at the end of the same one twice.
TEST(OnnxResize, AsymmetricInterpolationIsASharePerPhase) {
  OnnxModel model;
  onnx::NodeProto& resize = add_resize(model, {1, 1, 1, 2, 4});
  resize.clear_attribute();
  test::set_text(resize, "mode", "linear");
  test::set_text(resize, "coordinate_transformation_mode", "asymmetric");
  const LoadedNetwork loaded = model.read();
  std::vector<Vec3> shuffles;
  std::vector<std::vector<float>> shares;
  for (std::size_t i = 0; i < loaded.network.nodes.size(); ++i) {
    const auto* up = std::get_if<Upsample>(&loaded.network.nodes[i].operation);
    if (up != nullptr) shuffles.push_back(up->factor);
    if (!loaded.weights[i].kernels.empty()) shares.push_back(loaded.weights[i].kernels);
  }
  EXPECT_EQ(shuffles, (std::vector<Vec3>{{1, 2, 1}, {1, 1, 4}}));
  EXPECT_EQ(shares, (std::vector<std::vector<float>>{{0.5F, 0.5F}, {0.75F, 0.25F}, {0.5F, 0.5F}, {0.25F, 0.75F}}));
}

TEST(OnnxResize, NamedAxesAloneAreResized) {
  OnnxModel model;
  onnx::NodeProto& resize = add_resize(model, {4, 2});
  test::set_integers(resize, "axes", {-1, 3});
  EXPECT_EQ(model.read().network.nodes[1].operation, Operation(Upsample{{1, 2, 4}, UpsampleKind::nearest}));
  const auto refusal = [](const test::Integers& axes) {
    OnnxModel other;
    test::set_integers(add_resize(other, {4, 2}), "axes", axes);
    return other.refusal();
  };
  EXPECT_THAT(refusal({4, 5}), HasSubstr("axis 5 of a tensor with 5 axes"));
  EXPECT_THAT(refusal({4, -1}), HasSubstr("names an axis twice"));
  EXPECT_THAT(refusal({4}), HasSubstr("has 2 scales or sizes; 1 are right"));
  EXPECT_THAT(refusal({1, 2}), HasSubstr("a scale of 4.000000 along axis 1 is not supported"));
}

TEST(OnnxResize, AlignedCornersBindTheNetworkToItsWindow) {
  OnnxModel model;
  onnx::NodeProto& resize = add_resize(model);
  resize.clear_attribute();
  test::set_text(resize, "mode", "linear");
  test::set_text(resize, "coordinate_transformation_mode", "align_corners");
  const Network network = model.read().network;
  EXPECT_EQ(network.nodes[1].operation, Operation(Upsample{{1, 2, 4}, UpsampleKind::aligned}));
  EXPECT_EQ(network.nodes[0].outside, Border{});
  EXPECT_TRUE(is_tile_bound(network));
}

TEST(OnnxResize, Refusals) {
  EXPECT_THAT(refusal_with([](auto& resize) { test::set_text(resize, "mode", "cubic"); }),
              HasSubstr("mode = 'cubic' is not supported"));
  EXPECT_THAT(refusal_with([](auto&) {}, {1, 1, 1, 1.5F, 4}), HasSubstr("a scale of 1.5"));
  EXPECT_THAT(refusal_with([](auto&) {}, {1, 2, 1, 2, 4}), HasSubstr("a scale of 2.0"));
  EXPECT_THAT(refusal_with([](auto&) {}, {1, 1, 2, 4}), HasSubstr("has 4 scales or sizes; 5 are right"));
  EXPECT_THAT(refusal_with([](auto& resize) { resize.set_input(2, "low"); }), HasSubstr("its scales are computed"));
  EXPECT_THAT(refusal_with([](auto&) {}, {1, 1, 1, 4, 4}), HasSubstr("an output finer than the input"));
}

TEST(OnnxResize, UpsampleOfOldSetsIsTheSame) {
  OnnxModel model(1, 3, 9);
  onnx::NodeProto& pool = model.node("MaxPool", {"in"}, {"low"});
  test::set_integers(pool, "kernel_shape", {2, 2, 2});
  test::set_integers(pool, "strides", {2, 2, 2});
  model.tensor("scales", {5}, {1, 1, 2, 2, 2});
  model.node("Upsample", {"low", "scales"}, {"out"});
  EXPECT_EQ(model.output("out").read().network.nodes[1].operation,
            Operation(Upsample{Vec3::cube(2), UpsampleKind::nearest}));
  test::set_text(*model.proto.mutable_graph()->mutable_node(1), "mode", "linear");
  EXPECT_EQ(model.refusal(), "");
  model.proto.mutable_graph()->mutable_node(1)->mutable_attribute(0)->set_s("cubic");
  EXPECT_THAT(model.refusal(), HasSubstr("mode = 'cubic' is not supported; only nearest, linear"));
}

}  // namespace
}  // namespace znni
