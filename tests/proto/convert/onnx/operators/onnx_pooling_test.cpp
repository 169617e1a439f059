#include "proto/convert/onnx/operators/onnx_pooling.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using testing::HasSubstr;

onnx::NodeProto& add_pool(OnnxModel& model, std::string_view operation) {
  onnx::NodeProto& pool = model.node(operation, {"in"}, {"out"});
  test::set_integers(pool, "kernel_shape", {1, 2, 3});
  model.output("out");
  return pool;
}

TEST(OnnxPooling, MaxAndAverageWithStrides) {
  for (const auto& [operation, kind] :
       {std::pair{"MaxPool", PoolKind::max}, std::pair{"AveragePool", PoolKind::average}}) {
    OnnxModel model(4);
    test::set_integers(add_pool(model, operation), "strides", {1, 2, 2});
    const LoadedNetwork loaded = model.read();
    EXPECT_EQ(loaded.network.nodes, (std::vector<Node>{{"/out", Pooling{kind, {1, 2, 3}, {1, 2, 2}}, {0}}}));
    EXPECT_TRUE(loaded.weights[0].kernels.empty());
  }
}

// SAME pads nothing around an even extent, and something around an odd one.
TEST(OnnxPooling, SameOfAnyExtentIsRefused) {
  OnnxModel open;
  onnx::NodeProto& pool = add_pool(open, "MaxPool");
  test::set_integers(pool, "strides", {1, 2, 3});
  test::set_text(pool, "auto_pad", "SAME_UPPER");
  EXPECT_THAT(open.refusal(), HasSubstr("pads by auto_pad at a stride, which depends on the volume's extents"));
  onnx::TensorShapeProto& shape =
      *open.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  for (int axis = 2; axis < 5; ++axis) shape.mutable_dim(axis)->set_dim_value(12);
  EXPECT_EQ(open.refusal(), "");
}

TEST(OnnxPooling, StridesAreOneWhereNoneAreGiven) {
  OnnxModel model;
  add_pool(model, "MaxPool");
  EXPECT_EQ(std::get<Pooling>(model.read().network.nodes[0].operation).stride, Vec3::cube(1));
}

TEST(OnnxPooling, PlanesHaveWindowsOfOneAlongZ) {
  OnnxModel model(1, 2);
  onnx::NodeProto& pool = model.node("MaxPool", {"in"}, {"out"});
  test::set_integers(pool, "kernel_shape", {2, 3});
  test::set_integers(pool, "strides", {2, 1});
  EXPECT_EQ(std::get<Pooling>(model.output("out").read().network.nodes[0].operation),
            (Pooling{PoolKind::max, {1, 2, 3}, {1, 2, 1}}));
}

TEST(OnnxPooling, WhatMakesNoDifferenceIsAccepted) {
  OnnxModel average;
  onnx::NodeProto& pool = add_pool(average, "AveragePool");
  test::set_integer(pool, "count_include_pad", 1);
  test::set_integer(pool, "ceil_mode", 1);  // strides are 1
  test::set_integers(pool, "pads", {0, 0, 0, 0, 0, 0});
  test::set_integers(pool, "dilations", {1, 1, 1});
  EXPECT_EQ(average.refusal(), "");

  OnnxModel max;
  test::set_integer(add_pool(max, "MaxPool"), "storage_order", 1);
  EXPECT_EQ(max.refusal(), "");
}

TEST(OnnxPooling, Refusals) {
  const auto refusal_with = [](const char* operation, const auto& change) {
    OnnxModel model;
    change(add_pool(model, operation));
    return model.refusal();
  };
  for (const char* operation : {"MaxPool", "AveragePool"}) {
    EXPECT_THAT(refusal_with(operation, [](auto& pool) { test::set_text(pool, "auto_pad", "SAME"); }),
                HasSubstr("auto_pad = 'SAME' is unknown"));
    EXPECT_THAT(refusal_with(operation,
                             [](auto& pool) {
                               test::set_integers(pool, "dilations", {1, 0, 2});
                             }),
                HasSubstr("'dilations' holds 0"));
    EXPECT_THAT(refusal_with(operation,
                             [](auto& pool) {
                               test::set_integers(pool, "dilations", {1, 1, 2});
                               test::set_text(pool, "auto_pad", "SAME_UPPER");
                             }),
                HasSubstr("auto_pad = 'SAME_UPPER' is not supported with dilations; only pads"));
    EXPECT_THAT(refusal_with(operation, [](auto& pool) { pool.clear_attribute(); }),
                HasSubstr("attribute 'kernel_shape' is missing"));
    EXPECT_THAT(refusal_with(operation,
                             [](auto& pool) {
                               test::set_integers(pool, "strides", {0, 1, 1});
                             }),
                HasSubstr("'strides' holds 0"));
    EXPECT_THAT(refusal_with(operation,
                             [](auto& pool) {
                               test::set_integers(pool, "strides", {1, 1, 4});  // longer than its window
                               test::set_integer(pool, "ceil_mode", 1);
                             }),
                HasSubstr("ceil_mode = 1 is not supported here; only where windows are at least as long"));
    EXPECT_THAT(refusal_with(operation,
                             [](auto& pool) {
                               test::set_integers(pool, "strides", {1, 2, 1});  // the last window may be padding alone
                               test::set_integers(pool, "pads", {0, 0, 0, 0, 1, 0});
                               test::set_integer(pool, "ceil_mode", 1);
                             }),
                HasSubstr("at least as long as their stride and the pads at the end together"));
  }
}

// A last window that reaches beyond the volume.
TEST(OnnxPooling, CeilModeWithPadsReadsTheRestOfAWindow) {
  OnnxModel model;
  onnx::NodeProto& pool = add_pool(model, "MaxPool");
  test::set_integers(pool, "strides", {1, 1, 2});
  test::set_integers(pool, "pads", {0, 0, 1, 0, 0, 0});
  test::set_integer(pool, "ceil_mode", 1);
  const Network network = model.read().network;
  EXPECT_EQ(network.frame.begin, (Vec3{0, 0, 1}));
  EXPECT_EQ(network.output_stride, (Vec3{1, 1, 2}));
}

TEST(OnnxPooling, PadsOfAMaxPoolingNeverWin) {
  OnnxModel model;
  test::set_integers(add_pool(model, "MaxPool"), "pads", {0, 1, 1, 0, 0, 1});
  const LoadedNetwork loaded = model.read();
  ASSERT_EQ(loaded.network.nodes.size(), 2U);
  EXPECT_EQ(loaded.network.frame, (Border{{0, 1, 1}, {0, 0, 1}}));
  EXPECT_EQ(loaded.network.nodes[0].operation, Operation(Crop{}));  // a copy of the input
  EXPECT_EQ(loaded.network.nodes[0].outside, loaded.network.frame);
  EXPECT_EQ(loaded.network.nodes[0].outside_kind, OutsideKind::lowest);
}

// If extents divide, rounding up is rounding down; a U-Net's volumes are such.
TEST(OnnxPooling, CeilModeReadsNothingBeyondWholePeriods) {
  OnnxModel model(1);
  onnx::NodeProto& pool = model.node("MaxPool", {"in"}, {"low"});
  test::set_integers(pool, "kernel_shape", {2, 2, 2});
  test::set_integers(pool, "strides", {2, 2, 2});
  test::set_integer(pool, "ceil_mode", 1);
  model.tensor("scales", {5}, {1, 1, 2, 2, 2});
  model.node("Resize", {"low", "", "scales"}, {"up"});
  model.node("Add", {"in", "up"}, {"out"});
  const LoadedNetwork loaded = model.output("out").read();
  EXPECT_EQ(loaded.network.frame, Border{});
  ASSERT_EQ(loaded.network.nodes.size(), 3U);
  EXPECT_EQ(loaded.network.nodes[0].operation, Operation(Pooling{PoolKind::max, Vec3::cube(2), Vec3::cube(2), true}));
}

TEST(OnnxPooling, DilationsAreKept) {
  for (const auto& [operation, kind] :
       {std::pair{"MaxPool", PoolKind::max}, std::pair{"AveragePool", PoolKind::average}}) {
    OnnxModel model;
    test::set_integers(add_pool(model, operation), "dilations", {1, 3, 2});
    const LoadedNetwork loaded = model.read();
    EXPECT_EQ(loaded.network.nodes[0].operation, Operation(Pooling{kind, {1, 2, 3}, Vec3::cube(1), false, {1, 3, 2}}));
    EXPECT_EQ(reaches(loaded.network).back().fov, (Vec3{1, 4, 5}));
  }
}

TEST(OnnxPooling, PadsOfAnAverageCountIfTheNodeSaysSo) {
  OnnxModel model;
  onnx::NodeProto& pool = add_pool(model, "AveragePool");
  test::set_integers(pool, "pads", {0, 1, 1, 0, 0, 1});
  const Network inside = model.read().network;
  EXPECT_EQ(inside.frame, (Border{{0, 1, 1}, {0, 0, 1}}));
  EXPECT_EQ(inside.nodes[0].outside_kind, OutsideKind::lowest);  // of a copy of the input
  EXPECT_EQ(std::get<Pooling>(inside.nodes[1].operation).kind, PoolKind::average_inside);
  test::set_integer(pool, "count_include_pad", 1);
  const Network counted = model.read().network;
  EXPECT_EQ(counted.frame, (Border{{0, 1, 1}, {0, 0, 1}}));
  ASSERT_EQ(counted.nodes.size(), 1U);
  EXPECT_EQ(std::get<Pooling>(counted.nodes[0].operation).kind, PoolKind::average);
}

TEST(OnnxPooling, TheRestOfAWindowBehindThePadsDoesNotCount) {
  OnnxModel model;
  onnx::NodeProto& pool = add_pool(model, "AveragePool");
  test::set_integers(pool, "strides", {1, 1, 2});
  test::set_integer(pool, "ceil_mode", 1);
  EXPECT_EQ(std::get<Pooling>(model.read().network.nodes[1].operation).kind, PoolKind::average_inside);
  test::set_integers(pool, "pads", {0, 0, 1, 0, 0, 0});
  test::set_integer(pool, "count_include_pad", 1);
  const Network counted = model.read().network;  // zeros around the input, then what lies within these
  ASSERT_GE(counted.nodes.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<Convolution>(counted.nodes[0].operation));
  EXPECT_EQ(std::get<Pooling>(counted.nodes[1].operation).kind, PoolKind::average_inside);
}

TEST(OnnxPooling, IndicesMayNotBeRead) {
  OnnxModel model;
  onnx::NodeProto& pool = model.node("MaxPool", {"in"}, {"out", "indices"});
  test::set_integers(pool, "kernel_shape", {2, 2, 2});
  OnnxModel reading = model;
  EXPECT_EQ(model.output("out").refusal(), "");
  reading.node("Relu", {"indices"}, {"relu"});
  EXPECT_THAT(reading.output("relu").refusal(), HasSubstr("input 'indices' is not the first output of a node"));
}

}  // namespace
}  // namespace znni
