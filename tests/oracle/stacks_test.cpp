#include "tests/oracle/stacks.hpp"

#include <gtest/gtest.h>

namespace znni::oracle {
namespace {

constexpr Vec3 row = {1, 1, 3};

StackStage pool(PoolKind kind, std::int64_t before, std::int64_t behind) {
  return {StackOperation::pool, kind, row, {0, 0, before}, {0, 0, behind}};
}

const StackStage scale = {StackOperation::scale_shift};
const StackStage relu = {StackOperation::activation, PoolKind::max, Vec3::cube(1), {}, {}, {ActivationKind::relu}};

TEST(OracleStacks, ClosedStacksPadWithNothingOrZeros) {
  const Shape5 in{1, 1, {1, 1, 4}};
  const Values values = {-3, -6, -9, 3};
  EXPECT_EQ(stacked({in, {pool(PoolKind::max, 1, 1)}, {0, 0, 1}}, values, {}), (Values{-3, -3, 3, 3}));
  EXPECT_EQ(stacked({in, {pool(PoolKind::max, 2, 0)}, {0, 0, 1}}, values, {}), (Values{-3, -3, -3, 3}));
  EXPECT_EQ(stacked({in, {pool(PoolKind::average, 1, 1)}, {0, 0, 1}}, values, {}), (Values{-3, -6, -4, -2}));
}

TEST(OracleStacks, StagesFollowEachOtherWithTheirOwnScales) {
  const std::vector<float> scales = {2, -1};
  const std::vector<float> shifts = {-5, 4};
  const StackProblem stack{{1, 1, {1, 1, 4}}, {scale, pool(PoolKind::max, 0, 0), relu, scale}};
  EXPECT_EQ(stacked(stack, {1, 2, 3, 4}, {{}, {}, scales, shifts}), (Values{3, 1}));
}

// A piece of 6 voxels that begins 2 before a value of 3. The second stage finds two voxels of its own.
TEST(OracleStacks, PiecesAreMaskedByWhereTheyLie) {
  const StackProblem stack{{1, 1, {1, 1, 6}}, {pool(PoolKind::max, 1, 0), pool(PoolKind::average, 1, 1)}};
  const Vec3 start{0, 0, -2};
  EXPECT_EQ(stacked(stack, {9, 9, 1, 5, 3, 9}, {}, std::span(&start, 1), {1, 1, 3}), (Values{10.0 / 3, 10.0 / 3}));
  EXPECT_EQ(stacked(stack, {9, 9, 1, 5, 3, 9}, {}), (Values{23.0 / 3, 23.0 / 3}));
}

// A patch that is closed for 5 voxels, of a volume that has 3.
TEST(OracleStacks, ClosedAxesMayHoldMoreThanTheVolume) {
  const StackProblem stack{{1, 1, {1, 1, 5}}, {pool(PoolKind::max, 1, 1), pool(PoolKind::average, 1, 1)}, {0, 0, 1}};
  const Vec3 start;
  EXPECT_EQ(stacked(stack, {1, 5, 3, 9, 9}, {}, std::span(&start, 1), {1, 1, 3}),
            (Values{10.0 / 3, 5, 10.0 / 3, 0, 0}));
}

TEST(OracleStacks, WhatLiesOutsideIsZero) {
  const StackProblem stack{{1, 1, {1, 1, 4}}, {pool(PoolKind::max, 1, 1)}};
  const Vec3 start{0, 0, 7};
  EXPECT_EQ(stacked(stack, {1, 2, 3, 4}, {}, std::span(&start, 1), {1, 1, 7}), (Values{0, 0}));
}

}  // namespace
}  // namespace znni::oracle
