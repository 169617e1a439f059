#include "server/train/samples/counter_random.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace znni {
namespace {

// Known answers from Random123 1.14, tests/kat_vectors.
TEST(TrainCounterRandom, PhiloxGivesThePublishedNumbers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (RandomBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}),
            (RandomBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (RandomBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(TrainCounterRandom, NumbersFollowFromSeedStepAndStream) {
  const auto first = [](std::uint64_t seed, std::uint64_t step, RandomStream stream) {
    return CounterRandom(seed, step, stream).bits();
  };
  const std::uint64_t number = first(1, 2, RandomStream::place);
  EXPECT_EQ(number, first(1, 2, RandomStream::place));
  EXPECT_NE(number, first(std::uint64_t{1} << 32 | 1, 2, RandomStream::place));
  EXPECT_NE(number, first(1, std::uint64_t{1} << 32 | 2, RandomStream::place));
  EXPECT_NE(number, first(1, 2, RandomStream::tone));
}

TEST(TrainCounterRandom, ABlockIsDrawnToItsEndBeforeTheNext) {
  CounterRandom random(7, 9, RandomStream::symmetry);
  for (std::uint32_t number = 0; number < 3; ++number) {
    const RandomBlock block = philox({number, 1, 9, 0}, {7, 0});
    EXPECT_EQ(random.bits(), block[0] | std::uint64_t{block[1]} << 32);
    EXPECT_EQ(random.bits(), block[2] | std::uint64_t{block[3]} << 32);
  }
}

TEST(TrainCounterRandom, WholeNumbersAreEquallyLikely) {
  CounterRandom random(1, 0, RandomStream::place);
  std::vector<int> counts(7);
  constexpr int draws = 70000;
  for (int i = 0; i < draws; ++i) ++counts[static_cast<std::size_t>(random.below(7))];
  for (const int count : counts) EXPECT_NEAR(count, draws / 7, 500);
  EXPECT_EQ(random.below(1), 0);
  const std::int64_t many = (std::int64_t{1} << 62) + 1;
  for (int i = 0; i < 100; ++i) EXPECT_LT(random.below(many), many);
}

TEST(TrainCounterRandom, RealNumbersHaveTheirMomentsAndBounds) {
  CounterRandom random(3, 5, RandomStream::tone);
  constexpr int draws = 100000;
  double sum = 0;
  double squares = 0;
  double uniform = 0;
  int hits = 0;
  for (int i = 0; i < draws; ++i) {
    const double normal = random.normal();
    ASSERT_TRUE(std::isfinite(normal));
    sum += normal;
    squares += normal * normal;
    const double between = random.uniform();
    ASSERT_TRUE(between >= 0 && between < 1);
    uniform += between;
    hits += random.chance(0.25) ? 1 : 0;
  }
  EXPECT_NEAR(sum / draws, 0, 0.02);
  EXPECT_NEAR(squares / draws, 1, 0.02);
  EXPECT_NEAR(uniform / draws, 0.5, 0.01);
  EXPECT_NEAR(static_cast<double>(hits) / draws, 0.25, 0.01);
  EXPECT_FALSE(random.chance(0));
  EXPECT_TRUE(random.chance(1));
}

}  // namespace
}  // namespace znni
