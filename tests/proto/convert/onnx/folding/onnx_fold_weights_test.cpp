#include "proto/convert/onnx/folding/onnx_fold_weights.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "proto/convert/onnx/graph/onnx_tensors.hpp"
#include "tests/proto/convert/onnx/folding/onnx_folding.hpp"

namespace znni {
namespace {

using test::Integers;
using test::OnnxModel;
using testing::HasSubstr;

// Numbers of a tensor with its extents; none, and the reason, if it was not made.
struct Made {
  Integers dims;
  std::vector<float> numbers;
  std::string refusal;
};

// Returns tensor "out" after every node was tried.
Made made_by(OnnxModel& model, std::int64_t max_parameters = 1 << 20) {
  const Result<OnnxGraph> graph = make_onnx_graph(model.output("out").proto);
  if (!graph) return {{}, {}, graph.error().message};
  OnnxBuilder builder(*graph, 3, 2, max_parameters);
  onnx::NodeProto reader;
  reader.add_input("out");
  for (const onnx::NodeProto* node : graph->nodes) {
    const Result<bool> done = fold_weights(*node, builder);
    if (!done) return {{}, {}, done.error().message};
    if (!*done) return {{}, {}, "not folded"};
  }
  const onnx::TensorProto* tensor = builder.constant(reader, 0);
  EXPECT_NE(tensor, nullptr);
  if (tensor == nullptr) return {};
  return {*dims_of(*tensor), *floats_of(*tensor), ""};
}

// Returns 0, 1, 2, ...
std::vector<float> counted(std::size_t count) {
  std::vector<float> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  return numbers;
}

// PyTorch's weight_norm: g v / |v|, with a length for each channel of the output.
TEST(OnnxFoldWeights, WeightNorm) {
  OnnxModel model(2);
  model.tensor("v", {65, 32, 3, 1, 1});
  model.tensor("g", {65, 1, 1, 1, 1});
  test::set_integers(model.node("ReduceL2", {"v"}, {"length"}), "axes", {1, 2, 3, 4});
  model.node("Div", {"v", "length"}, {"unit"});
  model.node("Mul", {"g", "unit"}, {"out"});
  const Made made = made_by(model);
  ASSERT_EQ(made.dims, (Integers{65, 32, 3, 1, 1})) << made.refusal;
  for (std::size_t i = 0; i < 65; ++i) {
    double squares = 0;
    for (std::size_t j = 96 * i; j < 96 * (i + 1); ++j) squares += static_cast<double>(j * j);
    const double factor = static_cast<double>(i) / std::sqrt(squares);
    for (std::size_t j = 96 * i; j < 96 * (i + 1); ++j) {
      ASSERT_NEAR(made.numbers[j], static_cast<double>(j) * factor, 1e-5 * static_cast<double>(i) + 1e-9) << j;
    }
  }
}

TEST(OnnxFoldWeights, ReductionsOfNamedAxesOrAll) {
  const auto reduced = [](const char* operation, const Integers& axes, bool keeps) {
    OnnxModel model(2, 3, 18);
    model.tensor("w", {2, 3}, {1, 2, 3, -4, 5, -6});
    model.integers("axes", axes);
    onnx::NodeProto& node =
        axes.empty() ? model.node(operation, {"w"}, {"out"}) : model.node(operation, {"w", "axes"}, {"out"});
    test::set_integer(node, "keepdims", keeps ? 1 : 0);
    return made_by(model);
  };
  EXPECT_EQ(reduced("ReduceSum", {-1}, true).numbers, (std::vector<float>{6, -5}));
  EXPECT_EQ(reduced("ReduceSum", {-1}, true).dims, (Integers{2, 1}));
  EXPECT_EQ(reduced("ReduceSum", {0}, false).numbers, (std::vector<float>{-3, 7, -3}));
  EXPECT_EQ(reduced("ReduceSum", {0}, false).dims, Integers{3});
  EXPECT_EQ(reduced("ReduceMean", {1}, false).numbers, (std::vector<float>{2, -5.0F / 3}));
  EXPECT_EQ(reduced("ReduceSumSquare", {}, false).numbers, std::vector<float>{91});
  EXPECT_EQ(reduced("ReduceSumSquare", {}, true).dims, (Integers{1, 1}));
  EXPECT_FLOAT_EQ(reduced("ReduceL2", {0, 1}, false).numbers.at(0), std::sqrt(91.0F));
  EXPECT_THAT(reduced("ReduceSum", {2}, true).refusal, HasSubstr("axis 2 of a tensor with 2 axes"));
  EXPECT_THAT(reduced("ReduceSum", {1, -1}, true).refusal, HasSubstr("axis -1 of a tensor with 2 axes, each once"));
}

TEST(OnnxFoldWeights, EachNumberOrTwo) {
  const auto of_one = [](const char* operation) {
    OnnxModel model(2);
    model.tensor("w", {2, 1}, {4, 0.25F});
    model.node(operation, {"w"}, {"out"});
    return made_by(model).numbers;
  };
  EXPECT_EQ(of_one("Sqrt"), (std::vector<float>{2, 0.5F}));
  EXPECT_EQ(of_one("Reciprocal"), (std::vector<float>{0.25F, 4}));
  EXPECT_EQ(of_one("Neg"), (std::vector<float>{-4, -0.25F}));
  EXPECT_EQ(of_one("Abs"), (std::vector<float>{4, 0.25F}));
  EXPECT_EQ(of_one("Identity"), (std::vector<float>{4, 0.25F}));
  const auto of_two = [](const char* operation, const Integers& dims) {
    OnnxModel model(2);
    model.tensor("w", {2, 2}, {1, 2, 3, 4});
    model.tensor("b", dims, {2, 3});
    model.node(operation, {"w", "b"}, {"out"});
    return made_by(model);
  };
  EXPECT_EQ(of_two("Add", {2}).numbers, (std::vector<float>{3, 5, 5, 7}));
  EXPECT_EQ(of_two("Sub", {2, 1}).numbers, (std::vector<float>{-1, 0, 0, 1}));
  EXPECT_EQ(of_two("Pow", {2}).numbers, (std::vector<float>{1, 8, 9, 64}));
  EXPECT_EQ(of_two("Div", {2, 1, 1}).numbers, (std::vector<float>{0.5F, 1, 1.5F, 2, 1.0F / 3, 2.0F / 3, 1, 4.0F / 3}));
  EXPECT_EQ(of_two("Div", {2, 1, 1}).dims, (Integers{2, 2, 2}));
}

TEST(OnnxFoldWeights, LayoutOfLargeTensors) {
  OnnxModel model(2);
  model.tensor("w", {70, 80});
  model.node("Transpose", {"w"}, {"t"});
  model.integers("shape", {0, -1, 1});
  model.node("Reshape", {"t", "shape"}, {"r"});
  model.integers("axes", {0, 2});
  model.node("Unsqueeze", {"r", "axes"}, {"u"});
  model.integers("last", {-1});
  model.node("Squeeze", {"u", "last"}, {"out"});
  const Made made = made_by(model);
  ASSERT_EQ(made.dims, (Integers{1, 80, 1, 70})) << made.refusal;
  for (std::size_t i = 0; i < 5600; ++i) ASSERT_EQ(made.numbers[i], counted(5600)[i % 70 * 80 + i / 70]);
}

// Float16 weights that the file casts, as half-precision exports have them.
TEST(OnnxFoldWeights, CastsToFloatingPoint) {
  OnnxModel model(2);
  onnx::TensorProto& half = model.tensor("w", {2});
  half.set_data_type(onnx::TensorProto::FLOAT16);
  half.clear_float_data();
  half.clear_raw_data();
  for (const int bits : {0x3c00, 0xc000}) half.add_int32_data(bits);
  onnx::NodeProto& cast = model.node("Cast", {"w"}, {"out"});
  test::set_integer(cast, "to", onnx::TensorProto::FLOAT);
  EXPECT_EQ(made_by(model).numbers, (std::vector<float>{1, -2}));
  cast.mutable_attribute(0)->set_i(onnx::TensorProto::INT64);
  model.proto.mutable_graph()->clear_output();
  EXPECT_THAT(made_by(model).refusal, HasSubstr("only to floating point"));
}

TEST(OnnxFoldWeights, WhatIsLeftOrRefused) {
  OnnxModel of_voxels(2);
  of_voxels.tensor("w", {2, 1, 1, 1});
  of_voxels.node("Mul", {"in", "w"}, {"out"});
  EXPECT_EQ(made_by(of_voxels).refusal, "not folded");
  OnnxModel integers(2);
  integers.integers("list", {1, 2});
  integers.node("Neg", {"list"}, {"out"});
  EXPECT_EQ(made_by(integers).refusal, "not folded");
  OnnxModel other(2);
  other.tensor("w", {2, 3});
  other.integers("shape", {4, -1});
  other.node("Reshape", {"w", "shape"}, {"out"});
  EXPECT_THAT(made_by(other).refusal, HasSubstr("makes other extents of 6 numbers"));
  OnnxModel apart(2);
  apart.tensor("w", {2, 3});
  apart.tensor("v", {2, 2});
  apart.node("Add", {"w", "v"}, {"out"});
  EXPECT_NE(made_by(apart).refusal, "");
}

// A small file could repeat tensors again and again.
TEST(OnnxFoldWeights, AreAsManyNumbersAsTheNetMayHave) {
  const auto outer_product = [](std::int64_t most) {
    OnnxModel model(2);
    model.tensor("a", {1000, 1});
    model.tensor("b", {1, 1000});
    model.node("Mul", {"a", "b"}, {"out"});
    return made_by(model, most).refusal;
  };
  EXPECT_EQ(outer_product(2'000'000), "");
  EXPECT_THAT(outer_product(900'000), HasSubstr("computes with more than 900000 constant numbers"));
  OnnxModel none(2);
  none.tensor("w", {0, std::int64_t{1} << 40});
  test::set_integers(none.node("ReduceSum", {"w"}, {"out"}), "axes", {0});
  EXPECT_THAT(made_by(none).refusal, HasSubstr("constant numbers"));
}

}  // namespace
}  // namespace znni
