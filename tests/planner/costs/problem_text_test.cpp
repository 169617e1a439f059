#include "planner/costs/problem_text.hpp"

#include <gtest/gtest.h>

namespace znni {
namespace {

const Shape5 shape = {2, 8, {9, 11, 13}};
constexpr Vec3 two = {2, 2, 2};

// Every kind of problem, every part of it.
const std::vector<LayerProblem> problems = {
    ConvProblem{shape, 16, {1, 2, 3}, Vec3::cube(1), Vec3::cube(1), {}, false},
    ConvProblem{shape, 16, {3, 3, 3}, {1, 2, 4}, {1, 1, 1}, {ActivationKind::leaky_relu, 0.01F}, true},
    ConvProblem{shape, 3, {1, 1, 1}, Vec3::cube(1), Vec3::cube(1), {ActivationKind::relu, 0.0F}, false},
    ConvProblem{shape, 3, {1, 1, 1}, Vec3::cube(1), Vec3::cube(1), {ActivationKind::sigmoid, 0.0F}, true},
    PoolProblem{shape, {3, 3, 3}, two, PoolKind::average, PoolMode::plain, Vec3::cube(1), Vec3::cube(1)},
    PoolProblem{shape, two, two, PoolKind::max, PoolMode::fragments, {1, 2, 1}, Vec3::cube(1)},
    PoolProblem{shape, two, two, PoolKind::max, PoolMode::fragments, Vec3::cube(1), {2, 1, 1}},
    ActivationProblem{shape, {ActivationKind::elu, 1.5F}},
    ActivationProblem{shape, {ActivationKind::tanh, 0.0F}},
    ActivationProblem{shape, {ActivationKind::capped_relu, 6.0F}},
    ActivationProblem{shape, {ActivationKind::gelu, 0.0F}},
    ActivationProblem{shape, {ActivationKind::gelu_tanh, 0.0F}},
    ConvProblem{shape, 3, {1, 1, 1}, Vec3::cube(1), Vec3::cube(1), {ActivationKind::hard_swish, 0.0F}, false},
    PoolProblem{shape, {1, 2, 3}, two, PoolKind::average_inside},
    PoolProblem{shape, {1, 2, 3}, two, PoolKind::max, PoolMode::plain, Vec3::cube(1), Vec3::cube(1), {1, 2, 1}},
    AcrossChannelsProblem{shape},
    AcrossChannelsProblem{shape, AcrossKind::log_softmax},
    AcrossChannelsProblem{shape, AcrossKind::arg_max},
    AcrossChannelsProblem{shape, AcrossKind::arg_max_last},
    AcrossChannelsProblem{shape, AcrossKind::norm},
    AcrossChannelsProblem{shape, AcrossKind::unit},
    ScaleShiftProblem{shape},
    PReluProblem{shape},
    NormProblem{shape, 1},
    NormProblem{shape, 1, 1e-5F, {ActivationKind::relu, 0.0F}, NormKind::response},
    NormProblem{shape, shape.f, 1e-5F, {ActivationKind::leaky_relu, 0.01F}},
    AttentionProblem{shape, 6, 2},
    AddVolumeProblem{shape, shape.n},
    GlobalPoolProblem{shape, PoolKind::max},
    GlobalPoolProblem{shape, PoolKind::average},
    AddProblem{shape, 3, {}},
    AddProblem{shape, 2, {ActivationKind::relu, 0.0F}},
    MultiplyProblem{shape, 1},
    MultiplyProblem{shape, shape.f},
    DivideProblem{shape, 1},
    DivideProblem{shape, shape.f},
    StackProblem{shape, {{StackOperation::scale_shift}, {StackOperation::pool, PoolKind::average, {2, 1, 3}}}},
    StackProblem{shape,
                 {{StackOperation::pool, PoolKind::max, {3, 3, 3}, {1, 1, 1}, {1, 2, 0}},
                  {StackOperation::scale_shift},
                  {StackOperation::activation, PoolKind::max, {1, 1, 1}, {}, {}, {ActivationKind::elu, 1.5F}}},
                 {1, 0, 1}},
    ConcatProblem{{shape, {2, 1, {9, 11, 13}}, shape}},
    CropProblem{shape, {1, 0, 2}, {0, 10, 3}},
    UpsampleProblem{shape, {1, 2, 3}, UpsampleKind::nearest},
    UpsampleProblem{shape, {2, 2, 1}, UpsampleKind::shuffle},
    UpsampleProblem{shape, {2, 1, 3}, UpsampleKind::linear},
    ConvProblem{shape, 16, {3, 3, 3}, Vec3::cube(1), two, {}, false},
    ConvProblem{shape, 16, {3, 3, 3}, {1, 2, 4}, {1, 1, 3}, {ActivationKind::relu, 0.0F}, true},
    ConvProblem{shape, 16, {3, 3, 3}, {1, 2, 4}, {1, 1, 3}, {ActivationKind::relu, 0.0F}, true, {}, 4},
    ConvProblem{shape, 16, {3, 3, 3}, {1, 2, 4}, {1, 1, 3}, {ActivationKind::relu, 0.0F}, true, {}, 4, true},
    ConvProblem{shape, 8, {3, 3, 3}, Vec3::cube(1), Vec3::cube(1), {}, false, {}, 8},
    ReorderProblem{shape, {ElementType::f32, Layout::planar}, {ElementType::f32, Layout::blocked16}},
    ConvPoolProblem{{shape, 3, {2, 2, 2}, Vec3::cube(1), Vec3::cube(1), {ActivationKind::relu, 0.0F}, false},
                    {{2, 3, {8, 10, 12}}, two, two, PoolKind::max, PoolMode::plain, Vec3::cube(1), Vec3::cube(1)}},
    ReorderProblem{shape, {ElementType::f16, Layout::channels_last}, {ElementType::f32, Layout::blocked8}},
    ReorderProblem{shape, {ElementType::f32, Layout::planar}, {ElementType::bf16, Layout::channels_last}},
};

TEST(PlannerProblemText, ReadsWhatIsWritten) {
  for (const LayerProblem& problem : problems) {
    const Result<LayerProblem> read = parse_problem(to_string(problem));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, problem) << to_string(problem);
  }
}

TEST(PlannerProblemText, WhatIsCutShortOrGoesOnIsRefused) {
  for (const LayerProblem& problem : problems) {
    const std::string text = to_string(problem);
    EXPECT_FALSE(parse_problem(text + " x")) << text;
    EXPECT_FALSE(parse_problem(text.substr(1))) << text;
    for (std::size_t length = 0; length < text.size(); ++length) {
      const Result<LayerProblem> read = parse_problem(text.substr(0, length));
      if (read) {
        EXPECT_EQ(to_string(*read), text.substr(0, length));
      }
    }
  }
}

TEST(PlannerProblemText, SaysWhatIsWrong) {
  EXPECT_NE(parse_problem("convolution").error().message.find("should read like"), std::string::npos);
  EXPECT_NE(parse_problem("conv 1x1x2x2x2 -> 1, k 3x3x3").error().message.find("smaller than the window"),
            std::string::npos);
  EXPECT_FALSE(parse_problem("conv 1x99999999999999999999x2x2x2 -> 1, k 3x3x3"));
  EXPECT_FALSE(parse_problem("add -3 of 1x1x2x2x2"));
  const std::string conv = "conv 1x1x4x4x4 -> 2, k 2x2x2";
  EXPECT_FALSE(parse_problem(conv + ", then softmax 1x2x3x3x3"));
  EXPECT_FALSE(parse_problem(conv + ", then " + conv));
  EXPECT_NE(parse_problem(conv + ", then max pool 1x2x4x4x4, window 2x2x2, stride 2x2x2, plain")
                .error()
                .message.find("the pooling reads 1x2x4x4x4, the convolution before it writes 1x2x3x3x3"),
            std::string::npos);
  EXPECT_NE(parse_problem("softmax 1x01x2x2x2").error().message.find("should read 'softmax 1x1x2x2x2'"),
            std::string::npos);
}

}  // namespace
}  // namespace znni
