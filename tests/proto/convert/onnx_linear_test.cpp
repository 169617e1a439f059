#include "proto/convert/onnx_linear.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "tests/proto/convert/onnx_model.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Returns a model of two images whose means, "f", a node that the test adds makes "g", which gates the input.
OnnxModel model_of(const std::function<void(OnnxModel&)>& add) {
  OnnxModel model(2);
  model.node("GlobalAveragePool", {"in"}, {"p"});
  model.node("Flatten", {"p"}, {"f"});
  add(model);
  model.integers("axes", {2, 3, 4});
  model.node("Unsqueeze", {"g", "axes"}, {"u"});
  model.node("Mul", {"in", "u"}, {"out"});
  return model.output("out");
}

// Returns the parameters of node 1, a convolution of one voxel to `f_out` images.
NodeWeights linear(const OnnxModel& model, std::int64_t f_out) {
  const LoadedNetwork loaded = model.read();
  if (loaded.network.nodes.size() != 3) return {};
  EXPECT_EQ(loaded.network.nodes[1], (Node{"/g", Convolution{f_out, Vec3::cube(1), Vec3::cube(1), {}}, {1}}));
  return loaded.weights[1];
}

TEST(OnnxLinear, GemmIsAConvolutionOfOneVoxel) {
  const NodeWeights weights = linear(model_of([](OnnxModel& model) {
                                       model.tensor("w", {2, 2}, {1, 2, 3, 4});
                                       model.tensor("b", {2}, {5, 6});
                                       test::set_integer(model.node("Gemm", {"f", "w", "b"}, {"g"}), "transB", 1);
                                     }),
                                     2);
  EXPECT_THAT(weights.kernels, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(weights.bias, ElementsAre(5, 6));
}

TEST(OnnxLinear, FactorsThatMakeNumbersInfiniteAreRefused) {
  for (const float factor : {1e38F, std::numeric_limits<float>::infinity()}) {
    for (const char* name : {"alpha", "beta"}) {
      const OnnxModel model = model_of([&](OnnxModel& of) {
        of.tensor("w", {2, 2}, {1, 2, 3, 40});
        of.tensor("b", {2}, {5, 60});
        test::set_real(of.node("Gemm", {"f", "w", "b"}, {"g"}), name, factor);
      });
      EXPECT_THAT(model.refusal(), HasSubstr("its weights times alpha, or its bias times beta, are not finite"));
    }
  }
}

TEST(OnnxLinear, MatricesOfOtherOrderFactorsAndABiasOfOneNumber) {
  const NodeWeights weights = linear(model_of([](OnnxModel& model) {
                                       model.tensor("w", {2, 2}, {1, 2, 3, 4});
                                       model.tensor("b", {1, 1}, {5});
                                       onnx::NodeProto& node = model.node("Gemm", {"f", "w", "b"}, {"g"});
                                       test::set_real(node, "alpha", 2);
                                       test::set_real(node, "beta", 3);
                                     }),
                                     2);
  EXPECT_THAT(weights.kernels, ElementsAre(2, 6, 4, 8));
  EXPECT_THAT(weights.bias, ElementsAre(15, 15));
}

TEST(OnnxLinear, MatMulHasNoBias) {
  const NodeWeights weights = linear(model_of([](OnnxModel& model) {
                                       model.tensor("w", {2, 1}, {7, 8});
                                       model.node("MatMul", {"f", "w"}, {"g"});
                                     }),
                                     1);
  EXPECT_THAT(weights.kernels, ElementsAre(7, 8));
  EXPECT_THAT(weights.bias, IsEmpty());
}

TEST(OnnxLinear, OfAFlattenedPatch) {
  OnnxModel model(2, 1);
  onnx::TypeProto::Tensor* type = model.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
  type->mutable_shape()->mutable_dim(2)->set_dim_value(2);
  model.node("Flatten", {"in"}, {"f"});
  model.tensor("w", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  model.tensor("b", {2}, {1, 2});
  onnx::NodeProto& node = model.node("Gemm", {"f", "w", "b"}, {"out"});
  test::set_real(node, "alpha", 2);
  test::set_real(node, "beta", 3);
  const LoadedNetwork loaded = model.output("out").read();
  EXPECT_EQ(loaded.network.nodes[0], (Node{"/out", Convolution{2, {1, 1, 2}, Vec3::cube(1), {}}, {0}}));
  EXPECT_THAT(loaded.weights[0].kernels, ElementsAre(2, 6, 10, 14, 4, 8, 12, 16));
  EXPECT_THAT(loaded.weights[0].bias, ElementsAre(3, 6));
  test::set_integer(node, "transB", 1);
  EXPECT_EQ(model.refusal(),
            "corrupt_file: node '/out' (Gemm): weights 'w' are no matrix for the 4 numbers of the flattened input, "
            "1x1x2 voxels");
}

TEST(OnnxLinear, WrongNumbersAreErrors) {
  const auto refusal = [](const test::Integers& matrix, const test::Integers& bias) {
    return model_of([&](OnnxModel& model) {
             model.tensor("w", matrix);
             model.tensor("b", bias);
             model.node("Gemm", {"f", "w", "b"}, {"g"});
           })
        .refusal();
  };
  EXPECT_EQ(refusal({2, 2}, {2}), "");
  EXPECT_EQ(refusal({3, 2}, {2}),
            "corrupt_file: node '/g' (Gemm): weights 'w' are no matrix for the 2 images of the input");
  EXPECT_THAT(refusal({2, 2, 1}, {2}), HasSubstr("are no matrix"));
  EXPECT_THAT(refusal({2}, {2}), HasSubstr("are no matrix"));
  EXPECT_THAT(refusal({2, 0}, {2}), HasSubstr("are no matrix"));
  EXPECT_THAT(refusal({2, 2}, {3}), HasSubstr("bias 'b' is neither one number nor one per image, 2"));
  EXPECT_THAT(refusal({2, 2}, {2, 1}), HasSubstr("is neither one number"));
  EXPECT_THAT(refusal({2, 2}, {0}), HasSubstr("is neither one number"));
}

TEST(OnnxLinear, OfVoxelsOrOfComputedNumbersIsRefused) {
  OnnxModel voxels(2);
  voxels.tensor("w", {2, 2});
  voxels.node("MatMul", {"in", "w"}, {"out"});
  EXPECT_THAT(voxels.output("out").refusal(), HasSubstr("operator is not supported"));
  const auto with = [](const test::Names& inputs) {
    return model_of([&](OnnxModel& model) {
             model.tensor("w", {2, 2});
             model.node("Gemm", inputs, {"g"});
           })
        .refusal();
  };
  EXPECT_THAT(with({"p", "w"}), HasSubstr("only of what is pooled of all voxels, as [N, C]"));
  EXPECT_THAT(with({"w", "f"}), HasSubstr("only of what is pooled of all voxels, as [N, C]"));
  EXPECT_THAT(with({"f", "f"}), HasSubstr("its matrix is computed"));
  EXPECT_THAT(with({"f", "w", "f"}), HasSubstr("its bias is computed"));
}

TEST(OnnxLinear, ATurnedInputIsRefused) {
  const OnnxModel model = model_of([](OnnxModel& of) {
    of.tensor("w", {2, 2});
    test::set_integer(of.node("Gemm", {"f", "w"}, {"g"}), "transA", 1);
  });
  EXPECT_THAT(model.refusal(), HasSubstr("transA = 1 is not supported; only 0"));
}

}  // namespace
}  // namespace znni
