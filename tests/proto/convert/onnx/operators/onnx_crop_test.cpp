#include "proto/convert/onnx/operators/onnx_crop.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::Integers;
using test::OnnxModel;
using testing::HasSubstr;

constexpr std::int64_t whole = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t whole_of_32_bits = std::numeric_limits<std::int32_t>::max();

void add_integers(OnnxModel& model, std::string_view name, const Integers& values) {
  onnx::TensorProto& tensor = *model.proto.mutable_graph()->add_initializer();
  tensor.set_name(std::string(name));
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_dims(static_cast<std::int64_t>(values.size()));
  for (const std::int64_t value : values) tensor.add_int64_data(value);
}

struct Slice {
  Integers starts;
  Integers ends;
  Integers axes = {};
  Integers steps = {};
};

// Returns a convolution of k = 3 and a Slice of its output.
OnnxModel sliced(const Slice& slice, int spatial_axes = 3, std::int64_t opset = 13) {
  OnnxModel model(2, spatial_axes, opset);
  model.conv("in", "a", 2, 4, Integers(static_cast<std::size_t>(spatial_axes), 3));
  if (opset < 10) {
    onnx::NodeProto& node = model.node("Slice", {"a"}, {"out"});
    test::set_integers(node, "starts", slice.starts);
    test::set_integers(node, "ends", slice.ends);
    if (!slice.axes.empty()) test::set_integers(node, "axes", slice.axes);
  } else {
    add_integers(model, "starts", slice.starts);
    add_integers(model, "ends", slice.ends);
    if (!slice.axes.empty()) add_integers(model, "axes", slice.axes);
    if (!slice.steps.empty()) add_integers(model, "steps", slice.steps);
    model.node("Slice", {"a", "starts", "ends", slice.axes.empty() ? "" : "axes", slice.steps.empty() ? "" : "steps"},
               {"out"});
  }
  model.output("out");
  return model;
}

// Declares the extents of the model's input.
OnnxModel of_extent(OnnxModel model, const Integers& n) {
  auto& shape = *model.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  for (std::size_t i = 0; i < n.size(); ++i) shape.mutable_dim(static_cast<int>(i) + 2)->set_dim_value(n[i]);
  return model;
}

Crop crop_of(const OnnxModel& model) {
  const LoadedNetwork loaded = model.read();
  if (loaded.network.nodes.size() != 2) return {};
  EXPECT_EQ(loaded.network.nodes[1].name, "/out");
  EXPECT_EQ(channels_of(loaded.network).back(), 4);
  return std::get<Crop>(loaded.network.nodes[1].operation);
}

TEST(OnnxCrop, SliceOfSpatialAxes) {
  const Crop all{{2, 1, 0}, {0, 3, 4}};
  EXPECT_EQ(crop_of(sliced({{2, 1, 0}, {whole, -3, -4}, {2, 3, 4}, {1, 1, 1}})), all);
  EXPECT_EQ(crop_of(sliced({{0, 1, 2}, {-4, -3, whole_of_32_bits}, {-1, -2, -3}})), all);
  EXPECT_EQ(crop_of(sliced({{0, 0, 2, 1, 0}, {whole, 4, whole, -3, -4}})), all);
  EXPECT_EQ(crop_of(sliced({{2, 1, 0}, {whole_of_32_bits, -3, -4}, {2, 3, 4}}, 3, 9)), all);
  EXPECT_EQ(crop_of(sliced({{1}, {-2}, {-1}}, 2)), (Crop{{0, 0, 1}, {0, 0, 2}}));
  EXPECT_EQ(crop_of(sliced({{1}, {-2}, {2}}, 1)), (Crop{{0, 0, 1}, {0, 0, 2}}));
}

// Every second voxel from the first one kept, as a pooling of windows of one voxel does.
TEST(OnnxCrop, SliceWithStepsIsACropAndAPooling) {
  const LoadedNetwork loaded = sliced({{1, 0}, {whole, -3}, {2, 4}, {2, 3}}).read();
  ASSERT_EQ(loaded.network.nodes.size(), 3U);
  EXPECT_EQ(loaded.network.nodes[1].operation, Operation(Crop{{1, 0, 0}, {0, 0, 3}}));
  EXPECT_EQ(loaded.network.nodes[2].operation, Operation(Pooling{PoolKind::max, Vec3::cube(1), {2, 1, 3}}));
  EXPECT_EQ(loaded.network.nodes[2].inputs, std::vector<int>{2});
  const LoadedNetwork from_first = sliced({{0}, {whole}, {3}, {4}}).read();
  ASSERT_EQ(from_first.network.nodes.size(), 2U);
  EXPECT_EQ(from_first.network.nodes[1].operation, Operation(Pooling{PoolKind::max, Vec3::cube(1), {1, 4, 1}}));
}

// Channels 1 and 3 of 4.
TEST(OnnxCrop, SliceOfChannelsWithStepsCopiesThem) {
  const LoadedNetwork loaded = sliced({{1}, {whole}, {1}, {2}}).read();
  ASSERT_EQ(loaded.network.nodes.size(), 2U);
  EXPECT_EQ(loaded.weights[1].kernels, (std::vector<float>{0, 1, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(sliced({{0}, {3}, {1}, {2}}).read().weights[1].kernels, (std::vector<float>{1, 0, 0, 0, 0, 0, 1, 0}));
}

TEST(OnnxCrop, SliceOfNothingPassesOn) { EXPECT_EQ(sliced({{0}, {whole}, {3}}).read().network.nodes.size(), 1U); }

// Exporters write such a Slice if they know the extents: 20 - 2 = 18 voxels.
TEST(OnnxCrop, SliceCountsFromTheOtherSideWhereTheFileSaysTheExtent) {
  EXPECT_EQ(crop_of(of_extent(sliced({{2, -17, 0}, {16, -1, 18}, {2, 3, 4}}), {20, 20, 20})),
            (Crop{{2, 1, 0}, {2, 1, 0}}));
  EXPECT_EQ(crop_of(of_extent(sliced({{-99}, {17}, {4}}), {20, 20, 20})), (Crop{{}, {0, 0, 1}}));
  OnnxModel pooled(1);
  onnx::NodeProto& pool = pooled.node("MaxPool", {"in"}, {"p"});
  test::set_integers(pool, "kernel_shape", {2, 2, 2});
  test::set_integers(pool, "strides", {2, 2, 2});
  add_integers(pooled, "starts", {1});
  add_integers(pooled, "ends", {8});
  add_integers(pooled, "axes", {2});
  pooled.node("Slice", {"p", "starts", "ends", "axes"}, {"out"});
  const LoadedNetwork loaded = of_extent(pooled.output("out"), {21, 20, 20}).read();
  EXPECT_EQ(loaded.network.nodes[1].operation, (Operation(Crop{{1, 0, 0}, {2, 0, 0}})));
}

// Exporters of crops to another tensor's extent slice all axes.
TEST(OnnxCrop, ASliceMayKeepTheBatchWhole) {
  const Slice all{{0, 0, 1}, {1, whole, -1}, {0, 1, 2}};
  EXPECT_EQ(crop_of(sliced(all)), (Crop{{1, 0, 0}, {1, 0, 0}}));
  OnnxModel two = sliced(all);
  two.proto.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_value(2);
  EXPECT_THAT(two.refusal(), HasSubstr("keeps [0, 1) of axis 0; the batch can only be kept whole"));
}

TEST(OnnxCrop, SliceThatIsNoCropIsRefusedInOneLine) {
  const auto refusal = [](const Slice& slice) { return sliced(slice).refusal(); };
  EXPECT_THAT(refusal({{1}, {9}, {2}}), HasSubstr("keeps [1, 9) of axis 2, which depends on an extent that the file"));
  EXPECT_THAT(refusal({{-3}, {whole}, {4}}), HasSubstr("keeps [-3, 9223372036854775807) of axis 4, which depends"));
  EXPECT_THAT(refusal({{1}, {2}, {0}}), HasSubstr("keeps [1, 2) of axis 0; the batch can only be kept whole"));
  EXPECT_THAT(refusal({{-1}, {0}, {3}, {-1}}), HasSubstr("steps of -1 are not supported; only constants from 1"));
  EXPECT_THAT(refusal({{0}, {-1}, {3}, {5000}}), HasSubstr("steps of 5000 are not supported"));
  EXPECT_THAT(refusal({{0}, {-1}, {3}, {0}}), HasSubstr("has a step of 0; 1 or more is right"));
  EXPECT_THAT(refusal({{0}, {whole}, {0}, {2}}), HasSubstr("the batch can only be kept whole"));
  EXPECT_THAT(refusal({{0}, {-1}, {5}}), HasSubstr("axis 5 of a tensor with 5 axes"));
  EXPECT_THAT(refusal({{0}, {-1}, {std::numeric_limits<std::int64_t>::min()}}), HasSubstr("of a tensor with 5 axes"));
  EXPECT_THAT(refusal({{0, 0}, {-1, -1}, {3, -2}}), HasSubstr("axis 3 stands twice among its axes"));
  EXPECT_THAT(refusal({{0, 0}, {-1}, {3}}), HasSubstr("has 2 starts, 1 ends, 1 axes and 2 steps"));
  EXPECT_THAT(refusal({{whole}, {whole}, {2}}), HasSubstr("borders of at most 1048576 voxels are supported"));
  EXPECT_THAT(refusal({{0}, {std::numeric_limits<std::int64_t>::min()}, {2}}), HasSubstr("borders of at most 1048576"));
  EXPECT_THAT(of_extent(sliced({{10}, {-8}, {2}}), {20, 20, 20}).refusal(),
              HasSubstr("keeps [10, -8) of axis 2: nothing of 18 voxels"));
  OnnxModel computed(1);
  computed.node("Slice", {"in", "in", "in"}, {"out"});
  EXPECT_THAT(computed.output("out").refusal(), HasSubstr("its starts are computed; only constants are supported"));
  OnnxModel missing(1);
  missing.node("Slice", {"in"}, {"out"});
  EXPECT_THAT(missing.output("out").refusal(), HasSubstr("starts or ends are missing"));
}

TEST(OnnxCrop, PadByExtentsIsRefused) {
  OnnxModel model(1, 1);
  model.node("Shape", {"in"}, {"shape"});
  test::set_integer(model.node("Concat", {"shape", "shape"}, {"pads"}), "axis", 0);
  model.node("Pad", {"in", "pads"}, {"out"});
  EXPECT_THAT(model.output("out").refusal(), HasSubstr("its pads hold a number that depends on the volume; only"));
}

// PyTorch exports x[..., 2:-2, 2:-2, 2:-2] as one Slice per axis.
TEST(OnnxCrop, ResidualBlockOfValidConvolutions) {
  OnnxModel model(2);
  model.conv("in", "a", 2, 2, {3, 3, 3});
  model.conv("a", "b", 2, 2, {3, 3, 3});
  add_integers(model, "two", {2});
  add_integers(model, "minus_two", {-2});
  std::string last = "in";
  for (int axis = 2; axis < 5; ++axis) {
    add_integers(model, test::numbered("axis", axis), {axis});
    model.node("Slice", {last, "two", "minus_two", test::numbered("axis", axis)}, {test::numbered("s", axis)});
    last = test::numbered("s", axis);
  }
  model.node("Add", {"b", last}, {"out"});
  const LoadedNetwork loaded = model.output("out").read();
  EXPECT_EQ(loaded.network.nodes.size(), 6U);
  const std::vector<std::string> wanted = {"/s4: crop 2, begin 2x2x2, end 2x2x2 <- in",
                                           "/a: conv 2 -> 2, k 3x3x3 <- in",
                                           "/b: conv 2 -> 2, k 3x3x3, residual <- /a, /s4"};
  std::vector<std::string> found = describe(fold_and_fuse(loaded).network);
  EXPECT_THAT(found, testing::UnorderedElementsAreArray(wanted));
  OnnxModel uneven = sliced({{1}, {-2}, {2}});
  uneven.proto.mutable_graph()->clear_output();
  uneven.node("Add", {"a", "out"}, {"sum"});
  EXPECT_THAT(uneven.output("sum").refusal(), HasSubstr("branches do not meet"));
}

// The tensor has 20 + t voxels: counted from the other side, and by another tensor's extent.
TEST(OnnxCrop, SliceByExtents) {
  const auto cut = [](std::string_view start, std::string_view end, std::int64_t further = 0) {
    OnnxModel model(1);
    model.conv("in", "a", 1, 1, {3, 1, 1});
    model.node("Shape", {"in"}, {"shape"});
    model.integers("z", {2});
    model.node("Gather", {"shape", "z"}, {"n"});
    model.node("Neg", {"n"}, {"minus_n"});
    model.integers("further", {further});
    model.node("Add", {"n", "further"}, {"more"});
    model.node("Add", {"minus_n", "further"}, {"less"});
    model.integers("one", {1});
    model.integers("end", {-1});
    model.node("Slice", {"a", std::string(start), std::string(end), "z"}, {"out"});
    model.output("out");
    const std::string refusal = model.refusal();
    if (!refusal.empty()) return refusal;
    const LoadedNetwork loaded = model.read();
    return loaded.network.nodes.size() == 1 ? "nothing" : describe(loaded.network)[1];
  };
  EXPECT_THAT(cut("one", "more", -4), HasSubstr("begin 1x0x0, end 2x0x0"));  // a has n - 2
  EXPECT_THAT(cut("one", "more"), HasSubstr("begin 1x0x0, end 0x0x0"));
  EXPECT_THAT(cut("less", "end", 5), HasSubstr("begin 3x0x0, end 1x0x0"));
  EXPECT_THAT(cut("less", "end"), HasSubstr("begin 0x0x0, end 1x0x0"));
  EXPECT_THAT(cut("more", "end"), HasSubstr("keeps [a number that depends on the volume, -1) of axis 2"));
  EXPECT_THAT(cut("one", "less"), HasSubstr("keeps [1, a number that depends on the volume) of axis 2"));
  EXPECT_THAT(cut("one", "one"), HasSubstr("keeps [1, 1) of axis 2"));
}

// Returns the refusal of a Pad before an AveragePool, as torch.onnx.export writes AvgPool3d(2).
std::string pad_refusal(std::int64_t opset, const test::Integers& pads, bool computed = false) {
  OnnxModel model(1, 2, opset);
  constexpr std::int64_t opset_of_input = 11;
  if (opset < opset_of_input) {
    onnx::NodeProto& node = model.node("Pad", {"in"}, {"padded"});
    test::set_text(node, "mode", "constant");
    test::set_integers(node, "pads", pads);
  } else {
    onnx::TensorProto& tensor = *model.proto.mutable_graph()->add_initializer();
    tensor.set_name("pads");
    tensor.set_data_type(onnx::TensorProto::INT64);
    tensor.add_dims(static_cast<std::int64_t>(pads.size()));
    for (const std::int64_t pad : pads) tensor.add_int64_data(pad);
    model.node("Pad", {"in", computed ? "in" : "pads"}, {"padded"});
  }
  model.node("Relu", {"padded"}, {"out"});
  const std::string refusal = model.output("out").refusal();
  if (refusal.empty()) {
    EXPECT_EQ(model.read().network.nodes.size(), 1U);
  }
  return refusal;
}

TEST(OnnxCrop, PadByNothingPassesOn) {
  for (const std::int64_t opset : {7, 10, 11, 13, 18}) {
    EXPECT_EQ(pad_refusal(opset, test::Integers(8, 0)), "") << opset;
    EXPECT_THAT(pad_refusal(opset, {1, 0, 0, 0, 0, 0, 0, 0}), HasSubstr("pads of 1 along axis 0 are not supported"));
  }
  EXPECT_THAT(pad_refusal(11, {}, true), HasSubstr("its pads are computed"));
}

TEST(OnnxCrop, PadByLessThanNothingCrops) {
  OnnxModel model(1, 2);
  add_integers(model, "pads", {0, 0, -1, 0, 0, 0, -2, -3});
  model.node("Pad", {"in", "pads"}, {"out"});
  EXPECT_EQ(model.output("out").read().network.nodes[0].operation, (Operation(Crop{{0, 1, 0}, {0, 2, 3}})));
  OnnxModel named(1, 3, 18);
  add_integers(named, "pads", {-1, 0, -2, 0});
  add_integers(named, "axes", {-1, 1});
  named.node("Pad", {"in", "pads", "", "axes"}, {"out"});
  EXPECT_EQ(named.output("out").read().network.nodes[0].operation, (Operation(Crop{{0, 0, 1}, {0, 0, 2}})));
  OnnxModel twice(1, 3, 18);
  add_integers(twice, "pads", {-1, 0, -2, 0});
  add_integers(twice, "axes", {2, -3});
  twice.node("Pad", {"in", "pads", "", "axes"}, {"out"});
  EXPECT_THAT(twice.output("out").refusal(), HasSubstr("axis 2 stands twice among its axes"));
  EXPECT_THAT(pad_refusal(13, {0, -1, 0, 0, 0, 0, 0, 0}),
              HasSubstr("pads of -1 along axis 1 are not supported; 0 to 1048576 are"));
  EXPECT_THAT(pad_refusal(13, {0, 0, 0}), HasSubstr("has 3 pads; 8 are right"));
}

}  // namespace
}  // namespace znni
