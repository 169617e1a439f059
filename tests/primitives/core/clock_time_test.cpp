#include "primitives/core/clock_time.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace znni {
namespace {

using std::chrono::steady_clock;

TEST(ClockTime, IsWhatWasSaid) {
  EXPECT_EQ(clock_time(0), steady_clock::duration::zero());
  EXPECT_EQ(clock_time(1.5), std::chrono::milliseconds(1500));
  EXPECT_EQ(clock_time(1e6), std::chrono::seconds(1'000'000));
}

TEST(ClockTime, WithoutEndFitsTheClock) {
  for (const double seconds : {longest_clock_time, 1e10, 1e300, std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(clock_time(seconds), std::chrono::seconds(1'000'000'000)) << seconds;
    EXPECT_GT(steady_clock::now() + clock_time(seconds), steady_clock::now());
  }
}

TEST(ClockTime, LessThanNothingIsNone) {
  for (const double seconds : {-1.0, -1e300, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(clock_time(seconds), steady_clock::duration::zero()) << seconds;
  }
}

TEST(ClockTime, SecondsSinceAnInstantAreAsManyAsPassed) {
  EXPECT_GE(seconds_since(steady_clock::now() - std::chrono::milliseconds(2500)), 2.5);
  EXPECT_LT(seconds_since(steady_clock::now() + std::chrono::hours(1)), 0);
}

}  // namespace
}  // namespace znni
