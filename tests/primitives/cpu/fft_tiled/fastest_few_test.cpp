#include "primitives/cpu/fft_tiled/fastest_few.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "tests/support/random.hpp"

namespace znni::cpu::fft_tiled {
namespace {

TEST(FastestFew, AreTheFirstOfAStableSort) {
  test::Random random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::pair<Seconds, int>> all;
    FastestFew<int> fastest(3);
    const std::int64_t count = random.integer(0, 12);
    for (int i = 0; i < count; ++i) {
      all.emplace_back(static_cast<Seconds>(random.integer(0, 4)), i);  // many are equal
      fastest.add(all.back().first, i);
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<int> expected;
    for (std::size_t i = 0; i < std::min<std::size_t>(all.size(), 3); ++i) expected.push_back(all[i].second);
    EXPECT_EQ(fastest.choices(), expected);
  }
}

}  // namespace
}  // namespace znni::cpu::fft_tiled
