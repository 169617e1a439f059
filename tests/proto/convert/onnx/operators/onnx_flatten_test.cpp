#include "proto/convert/onnx/operators/onnx_flatten.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::Integers;
using test::Names;
using test::OnnxModel;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t row = 36;  // three channels of 2x2x3 voxels
const char* const conv_and_pool[] = {"/c: conv 2 -> 3, k 3x3x3 <- in",
                                     "/p: max pool 3, window 2x2x2, stride 2x2x2 <- /c"};

void declare(OnnxModel& model, const Integers& extents) {
  onnx::TypeProto::Tensor* type = model.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    if (extents[axis] > 0) type->mutable_shape()->mutable_dim(static_cast<int>(axis))->set_dim_value(extents[axis]);
  }
}

// Returns a model of patches of two channels and 6x7x9 voxels, of which "p" is [N, 3, 2, 2, 3]. The batch is open.
OnnxModel patches(const Integers& extents = {0, 2, 6, 7, 9}, std::int64_t opset = 13) {
  OnnxModel model(2, 3, opset);
  declare(model, extents);
  model.conv("in", "c", 2, 3, {3, 3, 3});
  onnx::NodeProto& pool = model.node("MaxPool", {"c"}, {"p"});
  test::set_integers(pool, "kernel_shape", {2, 2, 2});
  test::set_integers(pool, "strides", {2, 2, 2});
  return model;
}

// Adds a linear layer of `in` numbers to `out` numbers, with a bias.
void linear(OnnxModel& model, const std::string& from, const std::string& to, std::int64_t in, std::int64_t out) {
  model.tensor(to + ".w", {out, in});
  model.tensor(to + ".b", {out});
  test::set_integer(model.node("Gemm", {from, to + ".w", to + ".b"}, {to}), "transB", 1);
}

// Returns the nodes of the net that ends with "out", or its refusal.
std::vector<std::string> nodes_of(OnnxModel model) {
  model.output("out");
  if (const std::string refusal = model.refusal(); !refusal.empty()) return {refusal};
  return describe(model.read().network);
}

// Returns the refusal of patches with what the test adds, behind which stands a linear layer of "f".
std::string refusal_of(OnnxModel model, const std::function<void(OnnxModel&)>& add) {
  add(model);
  linear(model, "f", "out", row, 2);
  return model.output("out").refusal();
}

TEST(OnnxFlatten, ALinearLayerOfAPatchIsAConvolutionOfItsVoxels) {
  OnnxModel model = patches();
  model.node("Flatten", {"p"}, {"f"});
  linear(model, "f", "out", row, 2);
  const LoadedNetwork loaded = model.output("out").read();
  EXPECT_THAT(describe(loaded.network),
              ElementsAre(conv_and_pool[0], conv_and_pool[1], "/out: conv 3 -> 2, k 2x2x3 <- /p"));
  ASSERT_EQ(loaded.weights[2].kernels.size(), 72U);
  for (std::size_t i = 0; i < 72; ++i) EXPECT_EQ(loaded.weights[2].kernels[i], static_cast<float>(i));
  EXPECT_THAT(loaded.weights[2].bias, ElementsAre(0, 1));
  EXPECT_EQ(reaches(loaded.network).back().fov, (Vec3{6, 6, 8}));  // 7x9 leave a voxel that the pooling drops
  EXPECT_TRUE(is_dense(loaded.network));
  EXPECT_EQ(loaded.network.window, Vec3{});
}

TEST(OnnxFlatten, ReshapesToOneRow) {
  for (const Integers& target : {Integers{1, -1}, {-1, row}, {0, -1}, {1, row}, {0, row}}) {
    OnnxModel model = patches();
    model.integers("shape", target);
    model.node("Reshape", {"p", "shape"}, {"f"});
    linear(model, "f", "out", row, 2);
    EXPECT_EQ(nodes_of(model).size(), 3U) << nodes_of(model)[0];
  }
  for (const Integers& target : {Integers{2, -1}, {1, row - 1}, {3, 12}}) {
    EXPECT_THAT(refusal_of(patches(),
                           [&](OnnxModel& model) {
                             model.integers("shape", target);
                             model.node("Reshape", {"p", "shape"}, {"f"});
                           }),
                HasSubstr("is not supported; only to [1, 36], all numbers of a patch"));
  }
}

// PyTorch exports x.view(x.size(0), -1) so, with an open batch.
TEST(OnnxFlatten, ReshapesToAComputedBatch) {
  OnnxModel model = patches();
  model.node("Shape", {"p"}, {"extents"});
  model.integer("zero", 0);
  model.node("Gather", {"extents", "zero"}, {"batch"});
  model.integers("axes", {0});
  model.node("Unsqueeze", {"batch", "axes"}, {"first"});
  model.integers("open", {-1});
  test::set_integer(model.node("Concat", {"first", "open"}, {"shape"}), "axis", 0);
  model.node("Reshape", {"p", "shape"}, {"f"});
  linear(model, "f", "out", row, 2);
  EXPECT_EQ(nodes_of(model).size(), 3U) << nodes_of(model)[0];
}

TEST(OnnxFlatten, LayersBehindAreOfOneVoxel) {
  for (const std::int64_t opset : {11, 13}) {
    OnnxModel model = patches({0, 2, 6, 7, 9}, opset);
    model.node("Flatten", {"p"}, {"f"});
    model.tensor("m", {row, 4});
    model.node("MatMul", {"f", "m"}, {"product"});
    model.tensor("bias", {4});
    model.node("Add", {"bias", "product"}, {"a"});
    model.node("Relu", {"a"}, {"r"});
    model.node("Dropout", {"r"}, {"d"});
    model.tensor("ones", {4}, {1, 1, 1, 1});
    model.node("BatchNormalization", {"d", "ones", "ones", "ones", "ones"}, {"n"});
    linear(model, "n", "l", 4, 3);
    test::set_integer(model.node("Softmax", {"l"}, {"out"}), "axis", opset == 11 ? 1 : -1);
    EXPECT_THAT(nodes_of(model),
                ElementsAre(conv_and_pool[0], conv_and_pool[1], "/product: conv 3 -> 4, k 2x2x3 <- /p",
                            "/a: scale and shift 4 <- /product", "/r: activation 4, relu <- /a",
                            "/n: scale and shift 4 <- /r", "/l: conv 4 -> 3, k 1x1x1 <- /n", "/out: softmax 3 <- /l"));
  }
}

TEST(OnnxFlatten, ActivationsBeforeTheLinearLayer) {
  OnnxModel model = patches();
  test::set_integer(model.node("Flatten", {"p"}, {"a"}), "axis", -4);
  model.node("Relu", {"a"}, {"b"});
  model.node("Dropout", {"b"}, {"c1"});
  model.node("Sigmoid", {"c1"}, {"s"});
  model.node("Mul", {"c1", "s"}, {"d"});
  model.node("Flatten", {"d"}, {"e"});
  model.integers("shape", {-1, row});
  model.node("Reshape", {"e", "shape"}, {"f"});
  linear(model, "f", "out", row, 2);
  EXPECT_THAT(nodes_of(model), ElementsAre(conv_and_pool[0], conv_and_pool[1], "/b: activation 3, relu <- /p",
                                           "/d: activation 3, silu <- /b", "/out: conv 3 -> 2, k 2x2x3 <- /d"));
}

TEST(OnnxFlatten, FewerAxes) {
  OnnxModel plane(2, 2);
  declare(plane, {1, 2, 4, 5});
  plane.node("Flatten", {"in"}, {"f"});
  linear(plane, "f", "out", 40, 2);
  EXPECT_THAT(nodes_of(plane), ElementsAre("/out: conv 2 -> 2, k 1x4x5 <- in"));
  OnnxModel line(2, 1);
  declare(line, {1, 2, 7});
  line.node("Flatten", {"in"}, {"f"});
  linear(line, "f", "out", 14, 2);
  EXPECT_THAT(nodes_of(line), ElementsAre("/out: conv 2 -> 2, k 1x1x7 <- in"));
}

// tf2onnx writes Keras' Flatten so: the matrix has its rows in the order of y, x and channels.
TEST(OnnxFlatten, RowsWhoseChannelsAreLast) {
  OnnxModel model(2, 2);
  declare(model, {1, 2, 2, 3});
  test::set_integers(model.node("Transpose", {"in"}, {"last"}), "perm", {0, 2, 3, 1});
  model.integers("shape", {-1, 12});
  model.node("Reshape", {"last", "shape"}, {"f"});
  model.tensor("w", {12, 2});
  model.node("MatMul", {"f", "w"}, {"out"});
  EXPECT_THAT(model.output("out").read().weights[0].kernels,
              ElementsAre(0, 4, 8, 12, 16, 20, 2, 6, 10, 14, 18, 22, 1, 5, 9, 13, 17, 21, 3, 7, 11, 15, 19, 23));
  OnnxModel other(2, 2);
  declare(other, {1, 2, 2, 3});
  test::set_integers(other.node("Transpose", {"in"}, {"last"}), "perm", {1, 0, 2, 3});
  other.node("Flatten", {"last"}, {"f"});
  linear(other, "f", "out", 6, 2);
  EXPECT_THAT(nodes_of(other), ElementsAre(HasSubstr("of other than a batch before all of its voxels")));
}

TEST(OnnxFlatten, OfASingleVoxelIsThatVoxel) {
  OnnxModel model = patches();
  model.conv("p", "q", 3, 4, {2, 2, 3});
  model.node("Flatten", {"q"}, {"out"});
  EXPECT_EQ(nodes_of(model).size(), 3U) << nodes_of(model)[0];
  OnnxModel axes = patches();
  axes.node("Flatten", {"p"}, {"f"});
  linear(axes, "f", "l", row, 2);
  axes.integers("shape", {1, 2, 1, 1, 1});
  axes.node("Reshape", {"l", "shape"}, {"s"});
  axes.conv("s", "out", 2, 3, {1, 1, 1});
  EXPECT_EQ(nodes_of(axes).size(), 4U) << nodes_of(axes)[0];
}

// Strides of convolutions make the output coarse, as in other nets.
TEST(OnnxFlatten, BehindStrides) {
  OnnxModel model(1);
  declare(model, {1, 1, 9, 9, 9});
  test::set_integers(model.conv("in", "c", 1, 2, {3, 3, 3}), "strides", {2, 2, 2});
  model.node("Flatten", {"c"}, {"f"});
  linear(model, "f", "out", 128, 2);
  EXPECT_THAT(nodes_of(model), testing::Contains("/out: conv 2 -> 2, k 4x4x4 <- /c"));
  EXPECT_EQ(model.output("out").read().network.output_stride, Vec3::cube(2));
}

TEST(OnnxFlatten, OpenExtentsAreRefused) {
  const auto flat = [](OnnxModel& model) { model.node("Flatten", {"p"}, {"f"}); };
  EXPECT_EQ(refusal_of(patches(), flat), "");
  EXPECT_EQ(refusal_of(patches({1, 2, 0, 7, 9}), flat),
            "unsupported: node '/f' (Flatten): flattens voxels whose extents the file leaves open, which is not "
            "supported; export with static axes, those of the patch that it classifies (the batch may stay open)");
  EXPECT_THAT(refusal_of(patches({1, 2, 3, 7, 9}), flat), HasSubstr("flattens voxels whose extents"));
  const auto computed = [](OnnxModel& model) {
    model.node("Shape", {"in"}, {"extents"});
    model.integers("open", {1, -1});
    model.node("Reshape", {"p", "open"}, {"f"});
  };
  EXPECT_THAT(refusal_of(patches({0, 2}), computed), HasSubstr("node '/f' (Reshape): flattens voxels whose extents"));
}

TEST(OnnxFlatten, NetsThatDifferFromPositionToPositionAreRefused) {
  const auto behind = [](const std::function<void(OnnxModel&)>& add) {
    return refusal_of(patches(), [&](OnnxModel& model) {
      add(model);
      model.node("Relu", {"x"}, {"y"});
      model.node("Flatten", {"y"}, {"f"});
    });
  };
  EXPECT_THAT(
      behind([](OnnxModel& model) {
        test::set_integers(model.conv("p", "x", 3, 3, {3, 3, 3}), "pads", {1, 1, 1, 1, 1, 1});
      }),
      HasSubstr(
          "node '/f' (Flatten): flattens voxels of a net that pads (or rounds extents up, ceil_mode), which is not"));
  EXPECT_THAT(behind([](OnnxModel& model) {
                model.tensor("scales", {5}, {1, 1, 1, 2, 1});
                model.node("Upsample", {"p", "scales"}, {"x"});
                model.proto.mutable_opset_import(0)->set_version(9);
              }),
              HasSubstr("flattens voxels of a net that upsamples, which is not supported"));
  EXPECT_THAT(behind([](OnnxModel& model) {
                model.tensor("s", {3}, {1, 1, 1});
                model.node("InstanceNormalization", {"p", "s", "s"}, {"x"});
              }),
              HasSubstr("flattens voxels of a net that normalises or pools over all voxels of its patch"));
}

// Either the second input alone is flattened, or the other one is pooled.
TEST(OnnxFlatten, OtherReadersOfAFlattenedInputAreRefused) {
  const auto with = [](const std::string& name, const Names& inputs) {
    OnnxModel model = patches();
    model.tensor("constant", {1, row});
    model.node("Flatten", {"p"}, {"flat"});
    model.node("GlobalAveragePool", {"p"}, {"pooled"});
    model.node(name, inputs, {"out"});
    return model.output("out").refusal();
  };
  for (const char* first : {"in", "constant", "pooled"}) {
    EXPECT_THAT(with("Reshape", {first, "flat"}), HasSubstr("its input is flattened, which is not supported here"));
  }
  for (const char* name : {"Mul", "Add", "Sub", "PRelu", "Gemm", "MatMul"}) {
    EXPECT_THAT(with(name, {"pooled", "flat"}), HasSubstr("node '/out'")) << name;
    EXPECT_THAT(with(name, {"flat", "pooled"}), HasSubstr("node '/out'")) << name;
  }
}

TEST(OnnxFlatten, ALinearLayerBehindARefusedNodeIsNoBlocker) {
  OnnxModel model = patches();
  test::set_integers(model.conv("p", "x", 3, 3, {3, 3, 3}), "pads", {1, 1, 1, 1, 1, 1});
  model.node("Flatten", {"x"}, {"f"});
  linear(model, "f", "a", row, 2);
  linear(model, "a", "out", 2, 2);
  const Blockers blockers = model.output("out").blockers();
  EXPECT_EQ(blockers.count, 1);
  ASSERT_EQ(blockers.kinds.size(), 1U);
  EXPECT_EQ(blockers.kinds[0].first, "/f");
}

TEST(OnnxFlatten, ABlockerSaysWhatIsWrongWithALinearLayer) {
  OnnxModel model = patches();
  model.node("Flatten", {"p"}, {"f"});
  linear(model, "f", "out", row - 1, 2);
  const Blockers blockers = model.output("out").blockers();
  ASSERT_EQ(blockers.kinds.size(), 1U);
  EXPECT_THAT(blockers.kinds[0].reason, HasSubstr("no matrix for the 36 numbers of the flattened input"));
}

TEST(OnnxFlatten, OtherFormsAreRefused) {
  const auto with = [](const std::function<void(OnnxModel&)>& add) { return refusal_of(patches(), add); };
  EXPECT_THAT(with([](OnnxModel& model) { test::set_integer(model.node("Flatten", {"p"}, {"f"}), "axis", 2); }),
              HasSubstr("axis = 2 is not supported; only 1"));
  EXPECT_THAT(with([](OnnxModel& model) {
                model.node("Flatten", {"p"}, {"a"});
                test::set_integer(model.node("Flatten", {"a"}, {"f"}), "axis", 0);
              }),
              HasSubstr("axis = 0 is not supported; only 1"));
  EXPECT_THAT(with([](OnnxModel& model) {
                model.node("Flatten", {"p"}, {"a"});
                model.integers("shape", {1, 6, 6});
                model.node("Reshape", {"a", "shape"}, {"f"});
              }),
              HasSubstr("of flattened voxels to [1, 6, 6] is not supported; only to [1, 36], as they are"));
  EXPECT_THAT(with([](OnnxModel& model) {
                model.node("Flatten", {"p"}, {"a"});
                model.node("Softmax", {"a"}, {"f"});
              }),
              HasSubstr("node '/f' (Softmax): its input is flattened, which is not supported here; only a linear"));
  EXPECT_THAT(with([](OnnxModel& model) {
                model.node("Flatten", {"p"}, {"a"});
                model.node("Einsum", {"a"}, {"f"});
              }),
              HasSubstr("node '/f' (Einsum): operator is not supported"));
}

TEST(OnnxFlatten, IsNoOutput) {
  OnnxModel model = patches();
  model.node("Flatten", {"p"}, {"out"});
  EXPECT_THAT(nodes_of(model), ElementsAre(HasSubstr("the output 'out' is flattened, which is not supported; export")));
}

TEST(OnnxFlatten, TwoOutputsOfOnePatch) {
  OnnxModel model = patches();
  model.node("Flatten", {"p"}, {"f"});
  linear(model, "f", "a", row, 2);
  linear(model, "f", "b", row, 3);
  EXPECT_THAT(describe(model.output("a").output("b").read().network).back(), HasSubstr("concat <- /a, /b"));
  OnnxModel mixed = patches();
  mixed.node("Flatten", {"p"}, {"f"});
  linear(mixed, "f", "a", row, 2);
  mixed.node("Relu", {"c"}, {"b"});
  EXPECT_THAT(mixed.output("a").output("b").refusal(),
              HasSubstr("the outputs 'a' and 'b' have other axes, of which one is that of a linear layer of a patch"));
}

TEST(OnnxFlatten, BranchesMeetIfTheyHaveOnePatch) {
  const auto joined = [](const std::string& second, std::int64_t length) {
    OnnxModel model = patches();
    model.node("Flatten", {"p"}, {"f"});
    model.node("Flatten", {second}, {"g"});
    linear(model, "f", "a", row, 2);
    linear(model, "g", "b", length, 2);
    test::set_integer(model.node("Concat", {"a", "b"}, {"j"}), "axis", -1);
    linear(model, "j", "out", 4, 2);
    return nodes_of(model);
  };
  EXPECT_EQ(joined("p", row).size(), 6U) << joined("p", row)[0];
  EXPECT_THAT(joined("c", 3 * 4 * 5 * 7), ElementsAre(HasSubstr("branches do not meet")));
}

// One voxel of a patch does not go together with the voxels of the patch.
TEST(OnnxFlatten, IsNoGateOfVoxels) {
  OnnxModel model = patches();
  model.node("Flatten", {"p"}, {"f"});
  linear(model, "f", "l", row, 3);
  model.integers("axes", {2, 3, 4});
  model.node("Unsqueeze", {"l", "axes"}, {"g"});
  model.node("Mul", {"p", "g"}, {"out"});
  EXPECT_THAT(nodes_of(model), ElementsAre(HasSubstr("node '/out' (Mul): its input is one voxel of each patch")));
}

TEST(OnnxFlatten, ItsShapeIsThatOfARow) {
  OnnxModel model = patches();
  model.node("Flatten", {"p"}, {"a"});
  model.node("Shape", {"a"}, {"shape"});
  model.node("Reshape", {"p", "shape"}, {"f"});
  linear(model, "f", "out", row, 2);
  EXPECT_EQ(nodes_of(model).size(), 3U) << nodes_of(model)[0];
}

TEST(OnnxFlatten, HugeExtentsAreNoMatrix) {
  constexpr std::int64_t huge = std::int64_t{1} << 30;
  OnnxModel model(2);
  declare(model, {1, 2, huge, huge, huge});
  model.node("Flatten", {"in"}, {"f"});
  linear(model, "f", "out", 4, 2);
  EXPECT_THAT(nodes_of(model), ElementsAre(HasSubstr("weights 'out.w' are no matrix for the")));
}

}  // namespace
}  // namespace znni
