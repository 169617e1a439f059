#include "proto/convert/onnx/operators/onnx_linear.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Returns a model of two channels whose means, "f", a node that the test adds makes "g", which gates the input.
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

// Returns the parameters of node 1, a convolution of one voxel to `f_out` channels.
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

// Returns a model of rows of 2 channels of 3 voxels, "row"; `last`: with the channels of a voxel side by side.
OnnxModel rows(bool last) {
  OnnxModel model(2, 1);
  auto* shape = model.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape->mutable_dim(2)->set_dim_value(3);
  model.node("Relu", {"in"}, {"r"});
  if (last) test::set_integers(model.node("Transpose", {"r"}, {"t"}), "perm", {0, 2, 1});
  model.node("Flatten", {last ? "t" : "r"}, {"row"});
  model.tensor("gamma", {6}, {1, -2, 3, 0.5F, 0, 2});
  model.tensor("beta", {6}, {3, 1, -1, 2, 0.5F, -3});
  model.tensor("mean", {6}, {0.5F, 1, -1, 0, 2, 3});
  model.tensor("variance", {6}, {1, 2, 3, 0.5F, 4, 0.25F});
  return model;
}

const test::Names statistics = {"gamma", "beta", "mean", "variance"};

onnx::NodeProto& normalise(OnnxModel& model, const std::string& in, const std::string& out) {
  test::Names inputs = {in};
  inputs.insert(inputs.end(), statistics.begin(), statistics.end());
  onnx::NodeProto& node = model.node("BatchNormalization", inputs, {out});
  test::set_real(node, "epsilon", 0.25F);
  return node;
}

// Returns what the statistics of rows() make of number `i` of a row.
double normalised(std::size_t i, double x) {
  constexpr double gamma[] = {1, -2, 3, 0.5, 0, 2};
  constexpr double beta[] = {3, 1, -1, 2, 0.5, -3};
  constexpr double mean[] = {0.5, 1, -1, 0, 2, 3};
  constexpr double variance[] = {1, 2, 3, 0.5, 4, 0.25};
  return gamma[i] * (x - mean[i]) / std::sqrt(variance[i] + 0.25) + beta[i];
}

TEST(OnnxLinear, TakesInTheNormalisationsOfARow) {
  for (const bool last : {false, true}) {
    for (const bool twice : {false, true}) {
      OnnxModel model = rows(last);
      normalise(model, "row", "a");
      model.node("Dropout", {"a"}, {"b"});
      if (twice) normalise(model, "b", "c");
      model.tensor("w", {6, 2}, {1, 2, -3, 4, 5, -6, 7, 8, 9, 1, -2, 3});
      model.tensor("b0", {2}, {5, 6});
      model.node("Gemm", {twice ? "c" : "b", "w", "b0"}, {"out"});
      const LoadedNetwork loaded = model.output("out").read();
      ASSERT_EQ(loaded.network.nodes.size(), 2U);
      const std::vector<double> x = {0.5, -1, 2, 3, -0.25, 4};  // in the order of the file's row
      const std::vector<double> w = {1, 2, -3, 4, 5, -6, 7, 8, 9, 1, -2, 3};
      for (std::size_t out = 0; out < 2; ++out) {
        double wanted = out == 0 ? 5 : 6;
        double found = static_cast<double>(loaded.weights[1].bias[out]);
        for (std::size_t i = 0; i < 6; ++i) {
          const double once = normalised(i, x[i]);
          const std::size_t place = last ? i % 2 * 3 + i / 2 : i;
          wanted += w[i * 2 + out] * (twice ? normalised(i, once) : once);
          found += static_cast<double>(loaded.weights[1].kernels[out * 6 + place]) * x[i];
        }
        EXPECT_NEAR(found, wanted, 1e-4) << last << twice << out;
      }
    }
  }
}

TEST(OnnxLinear, AloneReadsANormalisedRow) {
  for (const char* operation : {"Relu", "Softmax"}) {
    OnnxModel model = rows(false);
    normalise(model, "row", "a");
    model.node(operation, {"a"}, {"b"});
    model.tensor("w", {6, 2});
    model.node("MatMul", {"b", "w"}, {"out"});
    EXPECT_THAT(model.output("out").refusal(), HasSubstr("its input is flattened and normalised, number by number"));
  }
  OnnxModel gated = rows(false);
  normalise(gated, "row", "a");
  gated.node("Sigmoid", {"a"}, {"s"});
  gated.node("Mul", {"a", "s"}, {"b"});
  gated.tensor("w", {6, 2});
  gated.node("MatMul", {"b", "w"}, {"out"});
  EXPECT_THAT(gated.output("out").refusal(), HasSubstr("node '/s' (Sigmoid): its input is flattened and normalised"));
}

TEST(OnnxLinear, ANormalisationHasANumberForEachOfTheRow) {
  OnnxModel model = rows(false);
  model.tensor("two", {2});
  normalise(model, "row", "a").set_input(2, "two");
  model.tensor("w", {6, 2});
  model.node("MatMul", {"a", "w"}, {"out"});
  EXPECT_THAT(model.output("out").refusal(), HasSubstr("input 'two' has 2 elements; one per channel, 6, is right"));
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
            "corrupt_file: node '/g' (Gemm): weights 'w' are no matrix for the 2 channels of the input");
  EXPECT_THAT(refusal({2, 2, 1}, {2}), HasSubstr("are no matrix"));
  EXPECT_THAT(refusal({2}, {2}), HasSubstr("are no matrix"));
  EXPECT_THAT(refusal({2, 0}, {2}), HasSubstr("are no matrix"));
  EXPECT_THAT(refusal({2, 2}, {3}), HasSubstr("bias 'b' is neither one number nor one per channel, 2"));
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
