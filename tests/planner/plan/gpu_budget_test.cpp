#include "planner/plan/gpu_budget.hpp"

#include <gtest/gtest.h>

namespace znni {
namespace {

TEST(GpuBudget, IsNineTenthsOfAllWhereThatIsFree) {
  EXPECT_EQ(default_gpu_budget(1000, std::nullopt), 900);
  EXPECT_EQ(default_gpu_budget(1000, GpuMemory{980, 50}), 900);
  EXPECT_EQ(default_gpu_budget(1000, GpuMemory{950, 50}), 900);
}

TEST(GpuBudget, LeavesTheLibrariesWhatTheyTakeOfWhatIsFree) {
  EXPECT_EQ(default_gpu_budget(1000, GpuMemory{949, 50}), 899);
  EXPECT_EQ(default_gpu_budget(1000, GpuMemory{300, 200}), 100);
}

TEST(GpuBudget, IsNothingWhereOthersHoldTheMemory) {
  EXPECT_EQ(default_gpu_budget(1000, GpuMemory{50, 50}), 0);
  EXPECT_EQ(default_gpu_budget(1000, GpuMemory{10, 50}), 0);
}

}  // namespace
}  // namespace znni
