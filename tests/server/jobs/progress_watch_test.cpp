#include "server/jobs/progress_watch.hpp"

#include <gtest/gtest.h>

#include "tests/server/jobs/wait_until.hpp"

namespace znni {
namespace {

using test::wait_until;

TEST(ProgressWatch, StandsStillOnlyWhileSomebodyWorks) {
  ProgressWatch watch;
  EXPECT_EQ(watch.still(), 0);
  {
    const ProgressWatch::Work work(watch);
    EXPECT_TRUE(wait_until([&] { return watch.still() > 0.001; }));
  }
  EXPECT_EQ(watch.still(), 0);
}

TEST(ProgressWatch, ASignOfProgressBeginsAnew) {
  ProgressWatch watch;
  const ProgressWatch::Work work(watch);
  EXPECT_TRUE(wait_until([&] { return watch.still() > 0.05; }));
  watch.beat();
  EXPECT_LT(watch.still(), 0.05);
}

TEST(ProgressWatch, APauseDoesNotCount) {
  ProgressWatch watch;
  const ProgressWatch::Work work(watch);
  {
    const ProgressWatch::Pause pause(watch);
    EXPECT_EQ(watch.still(), 0);
  }
  EXPECT_TRUE(wait_until([&] { return watch.still() > 0; }));
}

}  // namespace
}  // namespace znni
