#include "planner/costs/problem_text.hpp"

#include <gtest/gtest.h>

namespace znni {
namespace {

const Shape5 shape = {2, 8, {9, 11, 13}};
constexpr Vec3 two = {2, 2, 2};

// Adds problems of one kind. One list of all kinds would take the compiler half a minute.
template <class Problem>
void add(std::vector<LayerProblem>& to, const std::vector<Problem>& problems) {
  to.insert(to.end(), problems.begin(), problems.end());
}

// Layers with windows, and reorders.
void add_windows(std::vector<LayerProblem>& to) {
  add<ConvProblem>(to, {{shape, 16, {1, 2, 3}, Vec3::cube(1), Vec3::cube(1), {}, false},
                        {shape, 16, {3, 3, 3}, {1, 2, 4}, {1, 1, 1}, {ActivationKind::leaky_relu, 0.01F}, true},
                        {shape, 3, {1, 1, 1}, Vec3::cube(1), Vec3::cube(1), {ActivationKind::relu, 0.0F}, false},
                        {shape, 3, {1, 1, 1}, Vec3::cube(1), Vec3::cube(1), {ActivationKind::sigmoid, 0.0F}, true},
                        {shape, 3, {1, 1, 1}, Vec3::cube(1), Vec3::cube(1), {ActivationKind::hard_swish, 0.0F}, false},
                        {shape, 16, {3, 3, 3}, Vec3::cube(1), two, {}, false},
                        {shape, 16, {3, 3, 3}, {1, 2, 4}, {1, 1, 3}, {ActivationKind::relu, 0.0F}, true},
                        {shape, 16, {3, 3, 3}, {1, 2, 4}, {1, 1, 3}, {ActivationKind::relu, 0.0F}, true, {}, 4},
                        {shape, 16, {3, 3, 3}, {1, 2, 4}, {1, 1, 3}, {ActivationKind::relu, 0.0F}, true, {}, 4, true},
                        {shape, 8, {3, 3, 3}, Vec3::cube(1), Vec3::cube(1), {}, false, {}, 8}});
  add<ConvPoolProblem>(
      to, {{{shape, 3, {2, 2, 2}, Vec3::cube(1), Vec3::cube(1), {ActivationKind::relu, 0.0F}, false},
            {{2, 3, {8, 10, 12}}, two, two, PoolKind::max, PoolMode::plain, Vec3::cube(1), Vec3::cube(1)}}});
  add<PoolProblem>(to,
                   {{shape, {3, 3, 3}, two, PoolKind::average, PoolMode::plain, Vec3::cube(1), Vec3::cube(1)},
                    {shape, two, two, PoolKind::max, PoolMode::fragments, {1, 2, 1}, Vec3::cube(1)},
                    {shape, two, two, PoolKind::max, PoolMode::fragments, Vec3::cube(1), {2, 1, 1}},
                    {shape, {1, 2, 3}, two, PoolKind::average_inside},
                    {shape, {1, 2, 3}, two, PoolKind::max, PoolMode::plain, Vec3::cube(1), Vec3::cube(1), {1, 2, 1}}});
  add<StackProblem>(to, {{shape, {{StackOperation::scale_shift}, {StackOperation::pool, PoolKind::average, {2, 1, 3}}}},
                         {shape,
                          {{StackOperation::pool, PoolKind::max, {3, 3, 3}, {1, 1, 1}, {1, 2, 0}},
                           {StackOperation::scale_shift},
                           {StackOperation::activation, PoolKind::max, {1, 1, 1}, {}, {}, {ActivationKind::elu, 1.5F}}},
                          {1, 0, 1}}});
  add<ReorderProblem>(to, {{shape, {ElementType::f32, Layout::planar}, {ElementType::f32, Layout::blocked16}},
                           {shape, {ElementType::f16, Layout::channels_last}, {ElementType::f32, Layout::blocked8}},
                           {shape, {ElementType::f32, Layout::planar}, {ElementType::bf16, Layout::channels_last}}});
}

// All other layers.
void add_others(std::vector<LayerProblem>& to) {
  add<ActivationProblem>(to, {{shape, {ActivationKind::elu, 1.5F}},
                              {shape, {ActivationKind::tanh, 0.0F}},
                              {shape, {ActivationKind::capped_relu, 6.0F}},
                              {shape, {ActivationKind::gelu, 0.0F}},
                              {shape, {ActivationKind::gelu_tanh, 0.0F}}});
  add<AcrossChannelsProblem>(to, {{shape},
                                  {shape, AcrossKind::log_softmax},
                                  {shape, AcrossKind::arg_max},
                                  {shape, AcrossKind::arg_max_last},
                                  {shape, AcrossKind::norm},
                                  {shape, AcrossKind::unit}});
  add<ScaleShiftProblem>(to, {{shape}});
  add<PReluProblem>(to, {{shape}});
  add<NormProblem>(to, {{shape, 1},
                        {shape, 1, 1e-5F, {ActivationKind::relu, 0.0F}, NormKind::response},
                        {shape, shape.f, 1e-5F, {ActivationKind::leaky_relu, 0.01F}}});
  add<AttentionProblem>(to, {{shape, 6, 2}});
  add<AddVolumeProblem>(to, {{shape, shape.n}});
  add<GlobalPoolProblem>(to, {{shape, PoolKind::max}, {shape, PoolKind::average}});
  add<AddProblem>(to, {{shape, 3, {}}, {shape, 2, {ActivationKind::relu, 0.0F}}});
  add<MultiplyProblem>(to, {{shape, 1}, {shape, shape.f}});
  add<DivideProblem>(to, {{shape, 1}, {shape, shape.f}});
  add<ConcatProblem>(to, {{{shape, {2, 1, {9, 11, 13}}, shape}}});
  add<CropProblem>(to, {{shape, {1, 0, 2}, {0, 10, 3}}});
  add<UpsampleProblem>(to, {{shape, {1, 2, 3}, UpsampleKind::nearest},
                            {shape, {2, 2, 1}, UpsampleKind::shuffle},
                            {shape, {2, 1, 3}, UpsampleKind::linear}});
}

// Returns every kind of problem, every part of it.
std::vector<LayerProblem> all_problems() {
  std::vector<LayerProblem> problems;
  add_windows(problems);
  add_others(problems);
  return problems;
}

TEST(PlannerProblemText, ReadsWhatIsWritten) {
  for (const LayerProblem& problem : all_problems()) {
    const Result<LayerProblem> read = parse_problem(to_string(problem));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, problem) << to_string(problem);
  }
}

TEST(PlannerProblemText, WhatIsCutShortOrGoesOnIsRefused) {
  for (const LayerProblem& problem : all_problems()) {
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
