#include "planner/network/operation_problem.hpp"

#include <gtest/gtest.h>

namespace znni {
namespace {

const std::vector<Shape5> two_inputs = {{2, 4, {8, 9, 10}}, {2, 1, {8, 9, 10}}};

std::string text_of(const Operation& operation, const NodeInputs& inputs) {
  return to_string(problem_of(operation, inputs));
}

TEST(PlannerOperationProblem, HasTheOperationsFieldsAndTheShapes) {
  const std::vector<Shape5> one = {two_inputs.front()};
  const Convolution conv{6, {1, 2, 3}, {1, 2, 1}, {ActivationKind::relu}, Vec3::cube(1), 2};
  EXPECT_EQ(text_of(conv, {one}), "conv 2x4x8x9x10 -> 6, k 1x2x3, dilation 1x2x1, groups 2, relu");
  EXPECT_EQ(text_of(Norm{2}, {one}), "norm 2x4x8x9x10, groups 2");
  EXPECT_EQ(text_of(AcrossChannels{AcrossKind::log_softmax}, {one}), "log softmax 2x4x8x9x10");
  EXPECT_EQ(text_of(Upsample{{1, 2, 2}}, {one}), "upsample nearest 2x4x8x9x10, factor 1x2x2");
}

TEST(PlannerOperationProblem, CountsAndShapesOfAllInputsArePartOfIt) {
  EXPECT_EQ(text_of(Convolution{1, Vec3::cube(1), Vec3::cube(1), {}}, {two_inputs}),
            "conv 2x4x8x9x10 -> 1, k 1x1x1, residual");
  EXPECT_EQ(text_of(Multiply{}, {two_inputs}), "multiply 2x4x8x9x10 by 1 channels");
  EXPECT_EQ(text_of(Divide{}, {two_inputs}), "divide 2x4x8x9x10 by 1 channels");
  EXPECT_EQ(text_of(Concat{}, {two_inputs}), "concat 2x4x8x9x10 + 2x1x8x9x10");
  EXPECT_EQ(text_of(Add{{}}, {two_inputs}), "add 2 of 2x4x8x9x10");
}

TEST(PlannerOperationProblem, GeometriesChooseModesOfPoolingsAndAxesOfCrops) {
  NodeInputs inputs{two_inputs};
  inputs.mode = PoolMode::fragments;
  inputs.groups = {2, 1, 1};
  inputs.fragments = {1, 2, 1};
  EXPECT_EQ(text_of(Pooling{}, inputs),
            "max pool 2x4x8x9x10, window 2x2x2, stride 2x2x2, fragments of 1x2x1 in groups 2x1x1");
  inputs.begin_axes = {0, 1, 1};
  inputs.end_axes = {1, 1, 0};
  EXPECT_EQ(text_of(Crop{{1, 2, 3}, {4, 5, 6}}, inputs), "crop 2x4x8x9x10, begin 0x2x3, end 4x5x0");
  const Stack stack{{{StackOperation::pool, PoolKind::max, {2, 1, 1}, {1, 0, 0}, {}, {}}}};
  EXPECT_EQ(text_of(stack, inputs), "stack 2x4x8x9x10, closed 0x0x1, max pool 2x1x1 padded 1x0x0 0x0x0");
}

}  // namespace
}  // namespace znni
