#include "proto/convert/onnx/graph/onnx_written_lengths.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using testing::HasSubstr;

constexpr float least = std::numeric_limits<float>::min();

// Returns a model whose "x" has two channels, between two Transposes if `is_last`, and whose "n" a test adds.
OnnxModel model_of(const std::function<void(OnnxModel&)>& add, bool is_last = false) {
  OnnxModel model(2, 3, 17);
  if (is_last) {
    test::set_integers(model.node("Transpose", {"in"}, {"x"}), "perm", {0, 2, 3, 4, 1});
  } else {
    model.node("Relu", {"in"}, {"x"});
  }
  add(model);
  if (is_last) test::set_integers(model.node("Transpose", {"n"}, {"out"}), "perm", {0, 4, 1, 2, 3});
  return model.output(is_last ? "out" : "n");
}

void add_length(OnnxModel& model, const test::Integers& axes) {
  test::set_integers(model.node("ReduceL2", {"x"}, {"length"}), "axes", axes);
}

// Adds the response of x whose lengths are along `axes`.
void add_response(OnnxModel& model, const test::Integers& axes, std::int64_t mean_axis) {
  model.tensor("epsilon", {}, {0.125F});
  add_length(model, axes);
  test::set_integers(model.node("ReduceMean", {"length"}, {"mean"}), "axes", {mean_axis});
  model.node("Add", {"mean", "epsilon"}, {"sum"});
  model.node("Div", {"length", "sum"}, {"factor"});
  model.node("Mul", {"x", "factor"}, {"n"});
}

TEST(OnnxWrittenLengths, UnitLengthIsOneLayer) {
  for (const char* const operation : {"", "Clip", "Max"}) {
    const OnnxModel model = model_of([&](OnnxModel& of) {
      of.tensor("epsilon", {}, {0.125F});
      add_length(of, {1});
      if (*operation != '\0') of.node(operation, {"length", "epsilon"}, {"above"});
      of.node("Shape", {"x"}, {"shape"});
      of.node("Expand", {*operation == '\0' ? "length" : "above", "shape"}, {"wide"});
      of.node("Div", {"x", "wide"}, {"n"});
    });
    const float epsilon = *operation == '\0' ? least : 0.125F;
    EXPECT_EQ(model.read().network.nodes, (std::vector<Node>{{"/x", Activate{{ActivationKind::relu}}, {0}},
                                                             {"/n", AcrossChannels{AcrossKind::unit, epsilon}, {1}}}))
        << operation;
  }
}

TEST(OnnxWrittenLengths, ResponsesAreOneLayer) {
  const OnnxModel first = model_of([](OnnxModel& model) { add_response(model, {2, 3, -1}, 1); });
  const LoadedNetwork loaded = first.read();
  EXPECT_EQ(loaded.network.nodes, (std::vector<Node>{{"/x", Activate{{ActivationKind::relu}}, {0}},
                                                     {"/n", Norm{1, 0.125F, {}, NormKind::response}, {1}}}));
  EXPECT_EQ(loaded.weights[1].scale, (std::vector<float>{1, 1}));
  EXPECT_EQ(loaded.weights[1].shift, (std::vector<float>{0, 0}));
  const OnnxModel last = model_of([](OnnxModel& model) { add_response(model, {1, 2, 3}, -1); }, true);
  EXPECT_EQ(last.read().network.nodes, (std::vector<Node>{{"/n", Norm{1, 0.125F, {}, NormKind::response}, {0}}}));
}

TEST(OnnxWrittenLengths, OfOtherAxesAreRefusedByName) {
  const auto refusal = [](const std::function<void(OnnxModel&)>& add) { return model_of(add).refusal(); };
  const std::string says = "node '/length' (ReduceL2): operator is not supported";
  EXPECT_THAT(refusal([](OnnxModel& model) { add_response(model, {2, 3}, 1); }), HasSubstr(says));
  EXPECT_THAT(refusal([](OnnxModel& model) { add_response(model, {2, 3, 4}, 2); }), HasSubstr(says));
  EXPECT_THAT(refusal([](OnnxModel& model) {
                add_length(model, {2});
                model.node("Div", {"x", "length"}, {"n"});
              }),
              HasSubstr(says));
}

// Whatever else reads the length needs it as a tensor of its own.
TEST(OnnxWrittenLengths, ThatOthersReadAreRefused) {
  OnnxModel model = model_of([](OnnxModel& of) {
    add_length(of, {1});
    of.node("Div", {"x", "length"}, {"n"});
  });
  EXPECT_EQ(model.refusal(), "");
  EXPECT_THAT(model.output("length").refusal(), HasSubstr("(ReduceL2): operator is not supported"));
}

TEST(OnnxWrittenLengths, OfOtherDivisorsAreRefused) {
  for (const float epsilon : {0.0F, -1.0F, std::numeric_limits<float>::infinity()}) {
    const OnnxModel model = model_of([&](OnnxModel& of) {
      of.tensor("epsilon", {}, {epsilon});
      add_length(of, {1});
      of.node("Clip", {"length", "epsilon"}, {"above"});
      of.node("Div", {"x", "above"}, {"n"});
    });
    EXPECT_THAT(model.refusal(), HasSubstr("(ReduceL2): operator is not supported")) << epsilon;
  }
}

}  // namespace
}  // namespace znni
