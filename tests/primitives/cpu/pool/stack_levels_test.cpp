#include "primitives/cpu/pool/stack_levels.hpp"

#include <gtest/gtest.h>

namespace znni::cpu {
namespace {

const StackStage pool = {StackOperation::pool, PoolKind::max, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}};
const StackStage scale = {StackOperation::scale_shift};
const StackStage relu = {StackOperation::activation, PoolKind::max, Vec3::cube(1), {}, {}, {ActivationKind::relu}};

TEST(StackLevels, APoolingTakesAScaleAndAnActivationWithIt) {
  const std::vector<StackLevel> levels = levels_of({{1, 2, {9, 9, 9}}, {relu, pool, scale, relu, relu, pool, scale}});
  ASSERT_EQ(levels.size(), 4U);
  EXPECT_FALSE(levels[0].is_pooling);
  EXPECT_EQ(levels[0].activation.kind, ActivationKind::relu);
  EXPECT_EQ(levels[0].out, Vec3::cube(9));
  EXPECT_TRUE(levels[1].is_pooling);
  EXPECT_EQ(levels[1].scale, 0);
  EXPECT_EQ(levels[1].out, Vec3::cube(7));
  EXPECT_EQ(levels[2].scale, -1);
  EXPECT_EQ(levels[2].activation.kind, ActivationKind::relu);
  EXPECT_EQ(levels[3].scale, 1);
  EXPECT_EQ(levels[3].in, Vec3::cube(7));
  EXPECT_EQ(levels[3].activation.kind, ActivationKind::none);
}

TEST(StackLevels, AScaleDoesNotJoinAnActivationOrAnotherScale) {
  EXPECT_EQ(levels_of({{1, 2, {9, 9, 9}}, {pool, relu, scale}}).size(), 2U);
  EXPECT_EQ(levels_of({{1, 2, {9, 9, 9}}, {pool, scale, scale}}).size(), 2U);
}

TEST(StackLevels, ChunksBeginAtPoolings) {
  const std::vector<StackLevel> levels =
      levels_of({{1, 2, {9, 9, 9}}, {scale, pool, relu, relu, pool, pool, relu}, Vec3::cube(1)});
  ASSERT_EQ(levels.size(), 5U);
  EXPECT_EQ(poolings_of(levels), 3);
  EXPECT_EQ(chunks_of(levels, 3).size(), 1U);
  const std::vector<std::span<const StackLevel>> chunks = chunks_of(levels, 2);
  ASSERT_EQ(chunks.size(), 2U);
  EXPECT_EQ(chunks[0].size(), 4U);
  EXPECT_EQ(chunks[1].data(), levels.data() + 4);
  EXPECT_EQ(chunks_of(levels, 1).size(), 3U);
  EXPECT_EQ(chunks_of(levels, 1)[0].size(), 3U);
}

TEST(StackLevels, BoxesMoveByWhatIsPaddedBeforeThem) {
  StackStage uneven = pool;
  uneven.before = {0, 2, 1};
  uneven.behind = {2, 0, 0};
  const StackProblem stack{{1, 1, {12, 12, 12}}, {uneven, relu}, {1, 0, 0}};
  const std::vector<StackLevel> levels = levels_of(stack);
  const std::vector<StackBox> boxes = own_boxes(levels, {0, -5, 3}, {12, 4, 9});
  ASSERT_EQ(boxes.size(), 2U);
  EXPECT_EQ(boxes[0].begin, (Vec3{0, 5, 0}));
  EXPECT_EQ(boxes[0].end, (Vec3{12, 9, 6}));
  EXPECT_EQ(boxes[1].begin, (Vec3{0, 3, 0}));
  EXPECT_EQ(boxes[1].end, (Vec3{12, 7, 4}));
  EXPECT_EQ(whole_boxes(levels)[1].end, (Vec3{12, 10, 10}));
}

}  // namespace
}  // namespace znni::cpu
