#include "server/pipeline/split/shared_stages.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace znni {
namespace {

TEST(SharedStages, TakesWhatEachThreadHasCountedOnce) {
  SharedStages stages;
  const auto count = [&stages](Seconds StageSeconds::*stage) {
    StageSeconds own;
    for (int i = 0; i < 1000; ++i) {
      own.*stage += 1;
      stages.hand_in(own);
      EXPECT_EQ(own.*stage, 0);
    }
  };
  {
    const std::jthread head(count, &StageSeconds::head);
    const std::jthread tail(count, &StageSeconds::tail);
  }
  EXPECT_EQ(stages.sum().head, 1000);
  EXPECT_EQ(stages.sum().tail, 1000);
  EXPECT_EQ(stages.sum().gather, 0);
}

}  // namespace
}  // namespace znni
