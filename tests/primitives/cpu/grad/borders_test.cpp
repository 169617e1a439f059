#include "primitives/cpu/grad/borders.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace znni::cpu {
namespace {

TEST(Borders, SurroundAWindowByZeros) {
  std::vector<float> from = {1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<float> to(2 * 4 * 3, -1.0F);
  Executor executor(2);
  copy_bordered(dense_view(from.data(), {1, 2, {1, 2, 2}}), 1, {1, 1, 0}, dense_view(to.data(), {1, 1, {2, 4, 3}}),
                executor);
  EXPECT_EQ(to, (std::vector<float>{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  //
                                    0, 0, 0, 5, 6, 0, 7, 8, 0, 0, 0, 0}));
}

TEST(Borders, CopyWholeBlocks) {
  const Format blocked{ElementType::f32, Layout::blocked8};
  std::vector<float> from(16);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i);
  std::vector<float> to(3 * 8, -1.0F);
  Executor executor(1);
  copy_bordered(dense_view(from.data(), {1, 16, {1, 1, 1}}, blocked), 8, {0, 0, 1},
                dense_view(to.data(), {1, 8, {1, 1, 3}}, blocked), executor);
  std::vector<float> expected(24, 0.0F);
  for (std::size_t i = 0; i < 8; ++i) expected[8 + i] = static_cast<float>(8 + i);
  EXPECT_EQ(to, expected);
}

}  // namespace
}  // namespace znni::cpu
