#include "server/jobs/progress_watch.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/server/jobs/wait_until.hpp"

namespace znni {
namespace {

using test::wait_until;
using Clock = std::chrono::steady_clock;

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
  EXPECT_TRUE(wait_until([&] { return watch.still() > 0.001; }));
  const Clock::time_point before = Clock::now();
  watch.beat();
  const Seconds still = watch.still();
  const std::chrono::nanoseconds since = Clock::now() - before;  // the work has gone on for longer
  EXPECT_LE(still, static_cast<Seconds>(since.count()) * 1e-9);
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

TEST(ProgressWatch, AJobBeatsAndWaitsForItsClientUnwatched) {
  ProgressWatch watch;
  const ProgressWatch::Work work(watch);
  int told = 0;
  VolumeJob job;
  job.account.progress = [&told](const JobProgress&) { ++told; };
  job.sink.slab = [&watch](std::int64_t, std::int64_t) -> Result<OutputSlab> {
    EXPECT_EQ(watch.still(), 0);
    return OutputSlab{};
  };
  job.sink.deliver = [&watch](const OutputSlab&) -> Result<void> {
    EXPECT_EQ(watch.still(), 0);
    return {};
  };
  keep_watch(watch, job);
  job.account.progress({});
  EXPECT_EQ(told, 1);
  ASSERT_TRUE(job.sink.slab(0, 1));
  ASSERT_TRUE(job.sink.deliver({}));
  while (watch.still() == 0) std::this_thread::yield();
}

}  // namespace
}  // namespace znni
