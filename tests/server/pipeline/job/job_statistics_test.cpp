#include "server/pipeline/job/job_statistics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace znni {
namespace {

// Returns powers of two: their sums are exact, and each tells its parts.
JobStatistics scaled_job(double scale) {
  JobStatistics made;
  made.seconds = scale;
  made.voxels_per_second = 1000 * scale;
  made.patches = static_cast<std::int64_t>(2 * scale);
  made.queued = 4 * scale;
  made.yielded = 8 * scale;
  made.cpu_idle = 16 * scale;
  made.gpu_idle = 32 * scale;
  made.stages = {64 * scale, 128 * scale, 256 * scale, 512 * scale, {1024 * scale}};
  return made;
}

TEST(JobStatistics, EveryTimeAndThePatchesAddUp) {
  JobStatistics all = scaled_job(1);
  all += scaled_job(4);
  EXPECT_EQ(all.seconds, 5);
  EXPECT_EQ(all.voxels_per_second, 1000) << "a rate is no sum";
  EXPECT_EQ(all.patches, 5 * 2);
  EXPECT_EQ(all.queued, 5 * 4);
  EXPECT_EQ(all.yielded, 5 * 8);
  EXPECT_EQ(all.cpu_idle, 5 * 16);
  EXPECT_EQ(all.gpu_idle, 5 * 32);
  EXPECT_EQ(all.stages.gather, 5 * 64);
  EXPECT_EQ(all.stages.stitch, 5 * 512);
  EXPECT_THAT(all.stages.layers, testing::ElementsAre(5 * 1024));
}

TEST(JobStatistics, GuestsAreOnlyThoseWhoAllWere) {
  for (const bool first : {false, true}) {
    for (const bool second : {false, true}) {
      JobStatistics all;
      all.is_guest = first;
      JobStatistics other;
      other.is_guest = second;
      all += other;
      EXPECT_EQ(all.is_guest, first && second);
    }
  }
}

TEST(JobStatistics, TheLastFallbackStays) {
  JobStatistics all;
  for (const auto& [next, stays] : {std::pair("", ""), std::pair("a", "a"), std::pair("", "a"), std::pair("b", "b")}) {
    JobStatistics other;
    other.fallback = next;
    all += other;
    EXPECT_EQ(all.fallback, stays);
  }
}

}  // namespace
}  // namespace znni
