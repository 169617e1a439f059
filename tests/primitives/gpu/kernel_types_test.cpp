#include "primitives/gpu/kernel_types.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "primitives/core/problem.hpp"
#include "primitives/gpu/activate.hpp"
#include "primitives/gpu/views.hpp"
#include "tests/primitives/gpu/host_math.hpp"
#include "tests/support/random.hpp"

namespace znni::cuda {
namespace {

TEST(KernelTypes, RowsAreVisitedOnce) {
  const RowShape shape{2, 3, 4, 5, 1, 7};
  const RowSteps steps{3 * 4 * 5, 4 * 5, 5, 1, 0, 0};
  std::set<Index> seen;
  for (Index row = 0; row < row_count(shape); ++row) seen.insert(offset_of(steps, row_at(shape, row)));
  EXPECT_EQ(static_cast<Index>(seen.size()), row_count(shape));
  EXPECT_EQ(*seen.rbegin(), row_count(shape) - 1);
}

TEST(KernelTypes, OffsetsPastThirtyTwoBitsAreKept) {
  const RowShape shape{2, 80, 1000, 1000, 1, 1000};
  const Index last = row_count(shape) - 1;
  const RowSteps steps{80'000'000'000, 1'000'000'000, 1'000'000, 1000, 0, 1};
  EXPECT_EQ(offset_of(steps, row_at(shape, last)) + element_offset(steps, 0, 999), 2 * 80'000'000'000 - 1);
}

TEST(KernelTypes, BlocksHold256ThreadsAndCoverShortAndLongRows) {
  for (const int elements : {1, 8, 9, 31, 64, 100, 5000}) {
    const BlockShape block = block_for(elements);
    EXPECT_EQ(block.x * block.y, 256);
    EXPECT_TRUE(block.x >= elements || block.x == 128) << elements;
  }
  EXPECT_EQ(blocks_for(0, 8), 1U);
  EXPECT_EQ(blocks_for(17, 8), 3U);
  EXPECT_EQ(blocks_for(Index{1} << 40, 2), (1U << 31) - 1);
}

TEST(Activate, IsTheActivationOfProblems) {
  test::Random random(2);
  for (int number = 0; number <= static_cast<int>(last_activation_kind); ++number) {
    const auto kind = static_cast<ActivationKind>(number);
    for (int i = 0; i < 200; ++i) {
      const float x = 3.0F * random.normal();
      const float wanted = apply(Activation{kind, 0.3F}, x);
      EXPECT_NEAR(activate<HostMath>(act_of(kind), 0.3F, x), wanted, 1e-6F * (1e-3F * std::abs(x) + std::abs(wanted)))
          << to_string(kind) << " of " << x;
    }
  }
}

TEST(Activate, KeepsNan) {
  for (int number = 0; number <= static_cast<int>(last_activation_kind); ++number) {
    const Act act = act_of(static_cast<ActivationKind>(number));
    EXPECT_TRUE(std::isnan(activate<HostMath>(act, 0.3F, std::numeric_limits<float>::quiet_NaN()))) << number;
  }
}

TEST(Activate, InfinitiesGiveTheLimits) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (int number = 0; number <= static_cast<int>(last_activation_kind); ++number) {
    const Activation activation{static_cast<ActivationKind>(number), 0.3F};
    for (const float x : {infinity, -infinity, 3e38F, -3e38F}) {
      EXPECT_EQ(activate<HostMath>(act_of(activation.kind), 0.3F, x), apply(activation, x)) << number << ": " << x;
    }
  }
}

}  // namespace
}  // namespace znni::cuda
