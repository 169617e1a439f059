#include "primitives/core/primitive.hpp"

#include <gtest/gtest.h>

namespace znni {
namespace {

TEST(Variant, Text) {
  EXPECT_EQ(to_string(Variant{}), "");
  EXPECT_EQ(to_string(Variant{{"tile", 24}, {"engine", 3}}), "tile=24,engine=3");
}

TEST(Variant, FindsASettingOrItsDefault) {
  const Variant variant = {{"tile", 24}};
  EXPECT_EQ(setting(variant, "tile", 1), 24);
  EXPECT_EQ(setting(variant, "engine", 1), 1);
}

TEST(InputOutputBuffers, DeclareEveryInputAndTheOutputInTheirFormats) {
  const ConcatProblem concat{{{1, 3, {2, 2, 2}}, {1, 17, {2, 2, 2}}}};
  const Format blocked{ElementType::f32, Layout::blocked16};
  const MemoryPlan plan = input_output_buffers(concat, {}, blocked, 2);
  ASSERT_EQ(plan.size(), 3U);
  EXPECT_EQ(plan[0], (Buffer{"input 0", MemorySpace::host, 3 * 8 * 4, Lifetime::stages(0, 2)}));
  EXPECT_EQ(plan[1], (Buffer{"input 1", MemorySpace::host, 17 * 8 * 4, Lifetime::stages(0, 2)}));
  EXPECT_EQ(plan[2], (Buffer{"output", MemorySpace::host, 32 * 8 * 4, Lifetime::stages(0, 2)}));
  EXPECT_EQ(input_name(7), "input 7");
  for (const Buffer& buffer : input_output_buffers(concat, {}, blocked, 0, MemorySpace::device)) {
    EXPECT_EQ(buffer.space, MemorySpace::device);
  }
}

// The residual is added to the output, so it has the output's format.
TEST(InputFormat, IsTheOutputsForAResidualAndTheInputsForAllElse) {
  const Format planar;
  const Format blocked{ElementType::f32, Layout::blocked16};
  ConvProblem conv{.in = {1, 3, {4, 4, 4}}, .f_out = 17, .k = {2, 2, 2}, .activation = {}};
  conv.residual = true;
  EXPECT_EQ(input_format(conv, 0, planar, blocked), planar);
  EXPECT_EQ(input_format(conv, 1, planar, blocked), blocked);
  EXPECT_EQ(input_format(AddProblem{{1, 3, {4, 4, 4}}, 2, {}}, 1, planar, blocked), planar);
  const MemoryPlan plan = input_output_buffers(conv, planar, blocked);
  ASSERT_EQ(plan.size(), 3U);
  EXPECT_EQ(plan[1], (Buffer{"input 1", MemorySpace::host, 32 * 27 * 4, Lifetime::stages(0, 0)}));
  EXPECT_EQ(plan[2].bytes, plan[1].bytes);
}

TEST(SpreadOfWhole, IsWhatTheInputHasBesideAWindow) {
  const ConvProblem conv{
      .in = {1, 3, {9, 10, 11}}, .f_out = 2, .k = {3, 1, 2}, .dilation = {2, 1, 3}, .activation = {}};
  EXPECT_EQ(spread_of_whole(conv), (Vec3{9 - 5, 10 - 1, 11 - 4}));
}

}  // namespace
}  // namespace znni
