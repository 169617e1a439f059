#include "primitives/cpu/pool/stack_model.hpp"

#include <gtest/gtest.h>

#include "tests/support/cpu.hpp"

namespace znni::cpu {
namespace {

constexpr Format blocked = {ElementType::f32, Layout::blocked16};

StackProblem stack_of(int depth, const Shape5& in) {
  StackProblem stack{in, {}, Vec3::cube(1)};
  stack.stages.assign(static_cast<std::size_t>(depth),
                      {StackOperation::pool, PoolKind::max, Vec3::cube(3), Vec3::cube(1), Vec3::cube(1)});
  return stack;
}

DeviceSpec spec_of(int threads) {
  DeviceSpec spec = describe_cpu(threads);
  spec.simd_floats = 16;
  spec.l2_bytes = 1 << 21;
  return spec;
}

TEST(StackModel, PartsCoverTheOutputOnce) {
  for (const int threads : {1, 3, 8}) {
    const StackProblem stack = stack_of(3, {1, 16, {21, 10, 700}});
    const StackChunk chunk = divided(levels_of(stack), stack.in, blocked, spec_of(threads));
    std::vector<int> covered(static_cast<std::size_t>(21 * 700));
    for (const PartFlow& part : chunk.parts) {
      const LevelFlow& last = part.levels.back();
      for (std::int64_t z = last.z_out.begin; z < last.z_out.end; ++z) {
        for (std::int64_t x = last.x_out.begin; x < last.x_out.end; ++x)
          ++covered[static_cast<std::size_t>(z * 700 + x)];
      }
      EXPECT_LE(part.floats, floats_of(chunk));
    }
    EXPECT_EQ(covered, std::vector<int>(covered.size(), 1));
  }
}

TEST(StackModel, ChannelsAreDividedWhereWorkersWouldHaveNone) {
  const StackProblem few = stack_of(2, {1, 16, {64, 16, 16}});
  EXPECT_EQ(divided(levels_of(few), few.in, blocked, spec_of(1)).parts.size(), 1U);
  EXPECT_GE(divided(levels_of(few), few.in, blocked, spec_of(4)).parts.size(), 4U);
  const StackProblem many = stack_of(2, {4, 16, {64, 16, 16}});
  EXPECT_EQ(divided(levels_of(many), many.in, blocked, spec_of(4)).parts.size(), 1U);
}

TEST(StackModel, RowsOfABlockFitTheCache) {
  const StackProblem stack = stack_of(10, {1, 16, {64, 64, 64}});
  const PartFlow part = divided(levels_of(stack), stack.in, blocked, spec_of(1)).parts.front();
  EXPECT_TRUE(part.in_blocks);
  EXPECT_GT(part.block, 1);
  EXPECT_LT(10 * 2 * part.block * part.levels.front().pitch * 4, 1 << 21);
}

TEST(StackModel, CyclesGrowWithLevelsAndFallWithWorkers) {
  const StackProblem one = stack_of(1, {1, 64, {32, 32, 32}});
  const StackProblem ten = stack_of(10, {1, 64, {32, 32, 32}});
  const auto cycles = [](const StackProblem& stack, int threads) {
    return cycles_of(divided(levels_of(stack), stack.in, blocked, spec_of(threads)), spec_of(threads));
  };
  EXPECT_GT(cycles(ten, 1) / cycles(one, 1), 9.0);
  EXPECT_NEAR(cycles(ten, 1) / cycles(ten, 4), 4.0, 0.1);
}

}  // namespace
}  // namespace znni::cpu
