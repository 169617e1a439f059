#include "primitives/core/gradient.hpp"

#include <gtest/gtest.h>

namespace znni {
namespace {

constexpr Shape5 shape{2, 4, {5, 6, 7}};

ConvProblem conv_of() { return {shape, 6, {1, 2, 3}, {1, 1, 1}, {1, 1, 1}, {}, true, {}, 2}; }

std::string refusal_of(const GradientProblem& problem) {
  const Result<void> sound = check(problem);
  return sound ? "" : sound.error().message;
}

TEST(GradientProblem, TheGradientOfKernelsIsATensorOfThem) {
  EXPECT_EQ(gradient_shape({conv_of(), GradientOf::weights}), (Shape5{6, 2, {1, 2, 3}}));
  EXPECT_EQ(gradient_shape({conv_of()}), shape);
  EXPECT_EQ(gradient_shape({conv_of(), GradientOf::input, 1}), output_shape(conv_of()));
  EXPECT_EQ(gradient_shape({ConcatProblem{{shape, {2, 9, {5, 6, 7}}}}, GradientOf::input, 1}).f, 9);
  EXPECT_EQ(gradient_shape({PReluProblem{shape}, GradientOf::weights}), (Shape5{1, 4, {1, 1, 1}}));
  EXPECT_EQ(gradient_shape({MultiplyProblem{shape, 1}, GradientOf::input, 1}), (Shape5{2, 1, {5, 6, 7}}));
  EXPECT_EQ(gradient_shape({conv_of(), GradientOf::both}), shape);
  EXPECT_EQ(weights_shape(conv_of()), (Shape5{6, 2, {1, 2, 3}}));
}

TEST(GradientProblem, ReadsTheOutputWhereThatSuffices) {
  const auto of = [](ActivationKind kind, float alpha = 1.0F) {
    return saved_value({ActivationProblem{shape, {kind, alpha}}});
  };
  EXPECT_EQ(of(ActivationKind::none), SavedValue::none);
  EXPECT_EQ(of(ActivationKind::relu), SavedValue::output);
  EXPECT_EQ(of(ActivationKind::leaky_relu), SavedValue::output);
  EXPECT_EQ(of(ActivationKind::leaky_relu, -0.1F), SavedValue::input);
  EXPECT_EQ(of(ActivationKind::softplus), SavedValue::output);
  EXPECT_EQ(of(ActivationKind::gelu), SavedValue::input);
  EXPECT_EQ(saved_value({AcrossChannelsProblem{shape}}), SavedValue::output);
  EXPECT_EQ(saved_value({PoolProblem{.in = shape}}), SavedValue::input);
  EXPECT_EQ(saved_value({PoolProblem{.in = shape, .kind = PoolKind::average}}), SavedValue::none);
  EXPECT_EQ(saved_value({PoolProblem{.in = shape, .kind = PoolKind::average_inside}}), SavedValue::input);
  EXPECT_EQ(saved_value({PReluProblem{shape}}), SavedValue::input);
  EXPECT_EQ(saved_value({PReluProblem{shape}, GradientOf::weights}), SavedValue::input);
  EXPECT_EQ(saved_value({ScaleShiftProblem{shape}}), SavedValue::none);
  EXPECT_EQ(saved_value({ScaleShiftProblem{shape}, GradientOf::weights}), SavedValue::input);
  EXPECT_EQ(saved_value({MultiplyProblem{shape, 4}}), SavedValue::input);
  EXPECT_EQ(saved_value({UpsampleProblem{shape}}), SavedValue::none);
  EXPECT_EQ(saved_value({conv_of()}), SavedValue::none);
  EXPECT_EQ(saved_value({conv_of(), GradientOf::weights}), SavedValue::input);
  EXPECT_EQ(saved_value({conv_of(), GradientOf::both}), SavedValue::input);
}

TEST(GradientProblem, AFactorsGradientReadsTheOther) {
  const MultiplyProblem product{shape, 1};
  EXPECT_EQ(saved_input({product, GradientOf::input, 0}), 1);
  EXPECT_EQ(saved_input({product, GradientOf::input, 1}), 0);
  EXPECT_EQ(saved_shape({product, GradientOf::input, 0}).f, 1);
  EXPECT_EQ(saved_shape({product, GradientOf::input, 1}), shape);
  EXPECT_EQ(saved_input({PReluProblem{shape}}), 0);
}

TEST(GradientProblem, ADivisorsGradientReadsItAndTheQuotient) {
  const DivideProblem quotient{shape, 1};
  for (const int input : {0, 1}) {
    const GradientProblem problem{quotient, GradientOf::input, input};
    EXPECT_EQ(saved_value(problem), SavedValue::input);
    EXPECT_EQ(saved_input(problem), 1);
    EXPECT_EQ(saved_shape(problem).f, 1);
    EXPECT_EQ(reads_result(problem), input == 1);
    EXPECT_EQ(gradient_shape(problem), input_shape(quotient, input));
  }
  const MemoryPlan plan = gradient_buffers({quotient, GradientOf::input, 1}, {}, {});
  ASSERT_EQ(plan.size(), 4U);
  EXPECT_EQ(plan[2].name, result_name);
  EXPECT_EQ(plan[2].bytes, tensor_bytes(shape, {}));
  EXPECT_FALSE(reads_result({MultiplyProblem{shape, 1}, GradientOf::input, 1}));
}

TEST(GradientProblem, SavedValuesHaveTheirShape) {
  const PoolProblem pool{.in = shape};
  EXPECT_EQ(saved_shape({pool}), shape);
  EXPECT_EQ(saved_shape({AcrossChannelsProblem{shape}}), shape);
  EXPECT_EQ(saved_shape({conv_of(), GradientOf::weights}), shape);
  EXPECT_EQ(saved_shape({conv_of()}), output_shape(conv_of()));
}

TEST(GradientProblem, ChecksSayWhatIsWrong) {
  EXPECT_EQ(refusal_of({conv_of(), GradientOf::weights}), "");
  EXPECT_EQ(refusal_of({conv_of(), GradientOf::input, 1}), "");
  EXPECT_NE(refusal_of({conv_of(), GradientOf::input, 2}).find("input 2 of 2 was named"), std::string::npos);
  EXPECT_NE(refusal_of({conv_of(), GradientOf::input, -1}).find("input -1"), std::string::npos);
  EXPECT_NE(refusal_of({conv_of(), GradientOf::weights, 1}).find("has no weights"), std::string::npos);
  EXPECT_NE(refusal_of({PoolProblem{.in = shape}, GradientOf::weights}).find("has no weights"), std::string::npos);
  EXPECT_EQ(refusal_of({conv_of(), GradientOf::both}), "");
  EXPECT_NE(refusal_of({conv_of(), GradientOf::both, 1}).find("two gradients at once"), std::string::npos);
  EXPECT_NE(refusal_of({PReluProblem{shape}, GradientOf::both}).find("two gradients at once"), std::string::npos);
  EXPECT_NE(refusal_of({GlobalPoolProblem{shape}}).find("no gradient is known of"), std::string::npos);
  PoolProblem inside{.in = shape, .kind = PoolKind::average_inside};
  EXPECT_EQ(refusal_of({inside}), "");
  inside.mode = PoolMode::fragments;
  inside.in.n = {5, 5, 7};
  EXPECT_NE(refusal_of({inside}).find("no gradient is known of"), std::string::npos);
  EXPECT_EQ(refusal_of({PoolProblem{.in = shape, .dilation = {1, 2, 1}}}), "");
  PoolProblem large{.in = {1, 1, Vec3::cube(9)}, .window = {4, 8, 8}};
  EXPECT_EQ(refusal_of({large}), "");
  large.window.z = 5;
  EXPECT_NE(refusal_of({large}).find("no gradient is known of"), std::string::npos);
  EXPECT_EQ(refusal_of({DivideProblem{shape, 1}}), "");
  const UpsampleProblem aligned{shape, Vec3::cube(2), UpsampleKind::aligned};
  EXPECT_NE(refusal_of({aligned}).find("no gradient is known of"), std::string::npos);
  EXPECT_EQ(refusal_of({PReluProblem{shape}, GradientOf::weights}), "");
  EXPECT_NE(refusal_of({AcrossChannelsProblem{shape, AcrossKind::arg_max}}).find("no gradient"), std::string::npos);
  ConvProblem active = conv_of();
  active.activation.kind = ActivationKind::relu;
  EXPECT_NE(refusal_of({active}).find("a problem of its own"), std::string::npos);
  EXPECT_NE(refusal_of({AddProblem{shape, 2, {ActivationKind::relu}}}).find("of its own"), std::string::npos);
  active.groups = 3;
  EXPECT_NE(refusal_of({active}), "");
}

TEST(GradientProblem, IsNamedInFull) {
  EXPECT_EQ(to_string(GradientProblem{AddProblem{shape, 2, {}}, GradientOf::input, 1}),
            "gradient of input 1: " + to_string(LayerProblem(AddProblem{shape, 2, {}})));
  EXPECT_EQ(to_string(GradientProblem{conv_of(), GradientOf::weights}),
            "gradient of the weights: " + to_string(LayerProblem(conv_of())));
  EXPECT_EQ(to_string(GradientProblem{conv_of(), GradientOf::both}),
            "gradient of input 0 and the weights: " + to_string(LayerProblem(conv_of())));
  EXPECT_EQ(refusal("cpu.grad.pool", "gradients of poolings", GradientProblem{AddProblem{shape, 2, {}}}).message,
            "cpu.grad.pool computes gradients of poolings, not: gradient of input 0: " +
                to_string(LayerProblem(AddProblem{shape, 2, {}})));
}

TEST(GradientBuffers, AreTheTensorsOfARun) {
  const Format blocked{ElementType::f32, Layout::blocked8};
  const MemoryPlan plan = gradient_buffers({conv_of(), GradientOf::weights}, blocked, {});
  ASSERT_EQ(plan.size(), 3U);
  EXPECT_EQ(plan[0].name, output_gradient_name);
  EXPECT_EQ(plan[0].bytes, tensor_bytes(output_shape(conv_of()), blocked));
  EXPECT_EQ(plan[1].name, saved_value_name);
  EXPECT_EQ(plan[1].bytes, tensor_bytes(shape, blocked));
  EXPECT_EQ(plan[2].name, gradient_name);
  EXPECT_EQ(plan[2].bytes, 4 * (6 * 2 * 6 + 6));  // kernels, then the bias
  EXPECT_EQ(gradient_buffers({conv_of()}, {}, {}).size(), 2U);
  const MemoryPlan both = gradient_buffers({conv_of(), GradientOf::both}, {}, blocked);
  ASSERT_EQ(both.size(), 4U);
  EXPECT_EQ(both[2].name, gradient_name);
  EXPECT_EQ(both[2].bytes, tensor_bytes(shape, blocked));
  EXPECT_EQ(both[3].name, weights_gradient_name);
  EXPECT_EQ(both[3].bytes, 4 * (6 * 2 * 6 + 6));
  EXPECT_EQ(gradient_buffers({PReluProblem{shape}, GradientOf::weights}, blocked, {})[2].bytes, 4 * 4);
  EXPECT_EQ(gradient_buffers({ScaleShiftProblem{shape}, GradientOf::weights}, blocked, {})[2].bytes, 4 * (4 + 4));
}

}  // namespace
}  // namespace znni
