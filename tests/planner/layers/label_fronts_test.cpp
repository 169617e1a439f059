#include "planner/layers/label_fronts.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace znni {
namespace {

Label label(Seconds seconds, std::int64_t persistent, std::int64_t peak) {
  Label result;
  result.seconds = seconds;
  result.persistent = persistent;
  result.peak = peak;
  return result;
}

TEST(PlannerLabelFronts, WhatAnotherBeatsIsLeftOut) {
  const Front front = pareto({label(3, 1, 1), label(1, 5, 5), label(2, 6, 5), label(2, 5, 4)}, StopQuestion({}));
  ASSERT_EQ(front.size(), 3U);
  EXPECT_EQ(front[0].seconds, 1);
  EXPECT_EQ(front[1].peak, 4);
  EXPECT_EQ(front[2].seconds, 3);
}

TEST(PlannerLabelFronts, FewKeepTheFastestAndTheLeanest) {
  Front front;
  for (int i = 0; i < 100; ++i) front.push_back(label(i, i == 37 ? 0 : 500 - i, i == 71 ? 0 : 900 - 2 * i));
  const Front few = few_of(front);
  EXPECT_EQ(few.size(), max_front);
  const auto has = [&](Seconds seconds) {
    return std::any_of(few.begin(), few.end(), [&](const Label& kept) { return kept.seconds == seconds; });
  };
  EXPECT_TRUE(has(0));
  EXPECT_TRUE(has(37));
  EXPECT_TRUE(has(71));
  EXPECT_EQ(few_of(Front(front.begin(), front.begin() + 5)).size(), 5U);
}

TEST(PlannerLabelFronts, FewStatesKeepTheFastestAndTheLeanest) {
  std::map<State, Front> states;
  const auto state = [](int i) {
    State formats;
    for (int bit = 0; bit < 7; ++bit) {
      formats.push_back({ElementType::f32, (i >> bit) % 2 == 0 ? Layout::planar : Layout::blocked16});
    }
    return formats;
  };
  for (int i = 0; i < 100; ++i) states[state(i)] = {label(100 - i, 7, i == 3 ? 1 : 50)};
  const std::map<State, Front> few = few_of(states);
  EXPECT_EQ(few.size(), max_states + 1);
  EXPECT_TRUE(few.contains(state(99)));
  EXPECT_TRUE(few.contains(state(3)));
  EXPECT_FALSE(few.contains(state(0)));
}

}  // namespace
}  // namespace znni
