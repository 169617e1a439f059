#include "proto/convert/onnx/folding/onnx_fold_layout.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/proto/convert/onnx/folding/onnx_folding.hpp"

namespace znni {
namespace {

using test::Integers;
using test::OnnxModel;
using testing::HasSubstr;

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

// Returns what a node makes of the numbers 0 to 5 as [2][3], named "six", and of lists of integers.
std::string made_by(std::string_view operation, const test::Names& inputs,
                    const std::vector<std::pair<std::string, Integers>>& lists = {},
                    void (*change)(onnx::NodeProto& node) = nullptr, std::int64_t opset = 13) {
  OnnxModel model(2, 3, opset);
  onnx::TensorProto& six = model.integers("six", {0, 1, 2, 3, 4, 5});
  six.clear_dims();
  six.add_dims(2);
  six.add_dims(3);
  for (const auto& [name, values] : lists) model.integers(name, values);
  onnx::NodeProto& node = model.node(operation, inputs, {"out"});
  if (change != nullptr) change(node);
  return test::folded(model);
}

std::string reshaped(const Integers& shape) { return made_by("Reshape", {"six", "shape"}, {{"shape", shape}}); }

TEST(OnnxFoldLayout, Reshape) {
  EXPECT_EQ(reshaped({3, 2}), "[3, 2]: 0, 1, 2, 3, 4, 5");
  EXPECT_EQ(reshaped({-1}), "[6]: 0, 1, 2, 3, 4, 5");
  EXPECT_EQ(reshaped({0, -1, 1}), "[2, 3, 1]: 0, 1, 2, 3, 4, 5");
  EXPECT_THAT(reshaped({4}), HasSubstr("makes 4 elements of 6"));
  EXPECT_THAT(reshaped({-1, 4}), HasSubstr("makes 4 elements of 6"));
  EXPECT_THAT(reshaped({-1, -1}), HasSubstr("leaves two extents open"));
  EXPECT_THAT(reshaped({-2, -3}), HasSubstr("an extent of -2"));
  EXPECT_THAT(reshaped({highest, highest, -1}), HasSubstr("elements"));
}

TEST(OnnxFoldLayout, SqueezeAndUnsqueeze) {
  EXPECT_EQ(made_by("Unsqueeze", {"six", "axes"}, {{"axes", {-1, 0}}}), "[1, 2, 3, 1]: 0, 1, 2, 3, 4, 5");
  const auto old = [](onnx::NodeProto& node) { test::set_integers(node, "axes", {1}); };
  EXPECT_EQ(made_by("Unsqueeze", {"six"}, {}, old, 11), "[2, 1, 3]: 0, 1, 2, 3, 4, 5");
  EXPECT_THAT(made_by("Unsqueeze", {"six", "axes"}, {{"axes", {3}}}), HasSubstr("axis 3 of a tensor with 3 axes"));
  EXPECT_THAT(made_by("Unsqueeze", {"six", "axes"}, {{"axes", {0, -4}}}), HasSubstr("axis -4 stands twice"));
  EXPECT_EQ(made_by("Squeeze", {"one"}, {{"one", {9}}}), "[]: 9");
  EXPECT_EQ(made_by("Squeeze", {"one", "axes"}, {{"one", {9}}, {"axes", {0}}}), "[]: 9");
  EXPECT_THAT(made_by("Squeeze", {"six", "axes"}, {{"axes", {1}}}), HasSubstr("makes 2 elements of 6"));
}

TEST(OnnxFoldLayout, Transpose) {
  EXPECT_EQ(made_by("Transpose", {"six"}), "[3, 2]: 0, 3, 1, 4, 2, 5");
  EXPECT_EQ(made_by("Transpose", {"six"}, {},
                    [](auto& node) {
                      test::set_integers(node, "perm", {0, 1});
                    }),
            "[2, 3]: 0, 1, 2, 3, 4, 5");
  EXPECT_THAT(made_by("Transpose", {"six"}, {},
                      [](auto& node) {
                        test::set_integers(node, "perm", {1, 1});
                      }),
              HasSubstr("perm is no order of 2 axes"));
  EXPECT_THAT(made_by("Transpose", {"six"}, {},
                      [](auto& node) {
                        test::set_integers(node, "perm", {0, 2});
                      }),
              HasSubstr("perm is no order of 2 axes"));
}

TEST(OnnxFoldLayout, Gather) {
  EXPECT_EQ(made_by("Gather", {"six", "at"}, {{"at", {1, -2}}}), "[2, 3]: 3, 4, 5, 0, 1, 2");
  EXPECT_EQ(made_by("Gather", {"six", "at"}, {{"at", {2}}}, [](auto& node) { test::set_integer(node, "axis", -1); }),
            "[2, 1]: 2, 5");
  EXPECT_THAT(made_by("Gather", {"six", "at"}, {{"at", {2}}}), HasSubstr("index 2 of 2 elements"));
  EXPECT_THAT(made_by("Gather", {"six", "at"}, {{"at", {lowest}}}), HasSubstr("of 2 elements"));
  OnnxModel scalar(2);
  scalar.integers("list", {4, 5});
  scalar.integer("at", 1);
  scalar.node("Gather", {"list", "at"}, {"out"});
  EXPECT_EQ(test::folded(scalar), "[]: 5");
}

struct Range {
  Integers starts;
  Integers ends;
  Integers axes = {};
  Integers steps = {};
};

std::string sliced(const Range& range) {
  return made_by("Slice",
                 {"six", "starts", "ends", range.axes.empty() ? "" : "axes", range.steps.empty() ? "" : "steps"},
                 {{"starts", range.starts}, {"ends", range.ends}, {"axes", range.axes}, {"steps", range.steps}});
}

TEST(OnnxFoldLayout, Slice) {
  EXPECT_EQ(sliced({{1}, {2}}), "[1, 3]: 3, 4, 5");
  EXPECT_EQ(sliced({{0, 1}, {highest, -1}}), "[2, 1]: 1, 4");
  EXPECT_EQ(sliced({{-2}, {99}, {1}}), "[2, 2]: 1, 2, 4, 5");
  EXPECT_EQ(sliced({{0}, {3}, {1}, {2}}), "[2, 2]: 0, 2, 3, 5");
  EXPECT_EQ(sliced({{-1}, {lowest}, {1}, {-1}}), "[2, 3]: 2, 1, 0, 5, 4, 3");
  EXPECT_EQ(sliced({{99}, {0}, {1}, {-2}}), "[2, 1]: 2, 5");
  EXPECT_EQ(sliced({{2}, {1}, {1}}), "[2, 0]:");
  EXPECT_EQ(sliced({{0}, {1}, {1}, {-1}}), "[2, 0]:");
  EXPECT_EQ(sliced({{0}, {highest}, {1}, {highest}}), "[2, 1]: 0, 3");
  EXPECT_EQ(sliced({{2}, {lowest}, {1}, {lowest}}), "[2, 1]: 2, 5");
  EXPECT_THAT(sliced({{0}, {1}, {2}}), HasSubstr("axis 2 of a tensor with 2 axes"));
  EXPECT_THAT(sliced({{0, 0}, {1, 1}, {1, -1}}), HasSubstr("axis 1 stands twice"));
  EXPECT_THAT(sliced({{0}, {1}, {1}, {0}}), HasSubstr("has a step of 0"));
  EXPECT_THAT(sliced({{0}, {1, 2}}), HasSubstr("other numbers of starts, ends, axes and steps"));
}

TEST(OnnxFoldLayout, SliceOfOldSets) {
  const auto old = [](onnx::NodeProto& node) {
    test::set_integers(node, "starts", {1});
    test::set_integers(node, "ends", {3});
    test::set_integers(node, "axes", {1});
  };
  EXPECT_EQ(made_by("Slice", {"six"}, {}, old, 9), "[2, 2]: 1, 2, 4, 5");
}

TEST(OnnxFoldLayout, Concat) {
  const auto along_1 = [](onnx::NodeProto& node) { test::set_integer(node, "axis", 1); };
  EXPECT_EQ(made_by("Concat", {"six", "six"}, {}, along_1), "[2, 6]: 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5");
  EXPECT_EQ(made_by("Concat", {"a", "none", "b"}, {{"a", {7}}, {"none", {}}, {"b", {8, 9}}}), "[3]: 7, 8, 9");
  EXPECT_THAT(made_by("Concat", {"six", "a"}, {{"a", {7}}}), HasSubstr("its inputs do not fit to each other"));
  EXPECT_THAT(made_by("Concat", test::Names(1000, "six")), HasSubstr("makes a tensor of 6000 elements"));
}

TEST(OnnxFoldLayout, ExpandAndConstantOfShape) {
  EXPECT_EQ(made_by("Expand", {"six", "shape"}, {{"shape", {2, 1, 1}}}),
            "[2, 2, 3]: 0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5");
  EXPECT_EQ(made_by("Expand", {"one", "shape"}, {{"one", {9}}, {"shape", {3}}}), "[3]: 9, 9, 9");
  EXPECT_THAT(made_by("Expand", {"six", "shape"}, {{"shape", {4}}}), HasSubstr("extents of 3 and 4"));
  EXPECT_THAT(made_by("Expand", {"one", "shape"}, {{"one", {9}}, {"shape", {highest, highest}}}),
              HasSubstr("at most 4096 are supported"));
  EXPECT_EQ(made_by("ConstantOfShape", {"shape"}, {{"shape", {2, 1}}}), "[2, 1]: 0, 0");
  const auto of_sevens = [](onnx::NodeProto& node) {
    onnx::AttributeProto& value = *node.add_attribute();
    value.set_name("value");
    value.set_type(onnx::AttributeProto::TENSOR);
    value.mutable_t()->set_data_type(onnx::TensorProto::INT64);
    value.mutable_t()->add_dims(1);
    value.mutable_t()->add_int64_data(7);
  };
  EXPECT_EQ(made_by("ConstantOfShape", {"shape"}, {{"shape", {2}}}, of_sevens), "[2]: 7, 7");
  EXPECT_THAT(made_by("ConstantOfShape", {"shape"}, {{"shape", {highest}}}), HasSubstr("at most 4096"));
  EXPECT_THAT(made_by("ConstantOfShape", {"shape"}, {{"shape", {-1}}}), HasSubstr("an extent of -1"));
}

TEST(OnnxFoldLayout, Range) {
  const auto range = [](std::int64_t start, std::int64_t limit, std::int64_t delta) {
    return made_by("Range", {"start", "limit", "delta"}, {{"start", {start}}, {"limit", {limit}}, {"delta", {delta}}});
  };
  EXPECT_EQ(range(2, 7, 2), "[3]: 2, 4, 6");
  EXPECT_EQ(range(2, -1, -1), "[3]: 2, 1, 0");
  EXPECT_EQ(range(2, 2, 1), "[0]:");
  EXPECT_EQ(range(2, 7, -1), "[0]:");
  EXPECT_THAT(range(0, 7, 0), HasSubstr("has a delta of 0"));
  EXPECT_THAT(range(0, highest, 1), HasSubstr("at most 4096"));
  EXPECT_THAT(range(lowest, highest, 1), HasSubstr("too large a range"));
  EXPECT_THAT(range(0, 1, lowest), HasSubstr("has a delta of"));
}

TEST(OnnxFoldLayout, IdentityPassesOn) {
  OnnxModel model(2);
  model.node("Shape", {"in"}, {"shape"});
  model.node("Identity", {"shape"}, {"out"});
  EXPECT_EQ(test::folded(model), "[5]: 1, 2, 20+4z, 24+2y, 28+1x");
}

// PyTorch writes F.pad so: a list of pads in its own order, filled up with zeros, turned round.
TEST(OnnxFoldLayout, PadsAsPyTorchWritesThem) {
  OnnxModel model(2);
  model.integers("four", {4});
  model.integers("given", {5, 6, 3, 4, 1, 2});
  onnx::NodeProto& zeros = model.node("ConstantOfShape", {"four"}, {"zeros"});
  onnx::AttributeProto& zero = *zeros.add_attribute();
  zero.set_name("value");
  zero.set_type(onnx::AttributeProto::TENSOR);
  zero.mutable_t()->set_data_type(onnx::TensorProto::INT64);
  zero.mutable_t()->add_int64_data(0);
  test::set_integer(model.node("Concat", {"given", "zeros"}, {"all"}), "axis", 0);
  model.integers("pairs", {-1, 2});
  model.node("Reshape", {"all", "pairs"}, {"paired"});
  model.integers("first", {0});
  model.integers("last", {-1});
  model.integers("before_first", {-highest});
  model.node("Slice", {"paired", "last", "before_first", "first", "last"}, {"reversed"});
  test::set_integers(model.node("Transpose", {"reversed"}, {"turned"}), "perm", {1, 0});
  model.node("Reshape", {"turned", "last"}, {"flat"});
  test::set_integer(model.node("Cast", {"flat"}, {"out"}), "to", onnx::TensorProto::INT64);
  EXPECT_EQ(test::folded(model), "[10]: 0, 0, 1, 3, 5, 0, 0, 2, 4, 6");
}

}  // namespace
}  // namespace znni
