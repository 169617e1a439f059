#include "server/pipeline/split/head_and_tail.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <limits>
#include <mutex>
#include <thread>

#include "server/volume/checked_source.hpp"
#include "tests/server/pipeline/pipeline_bench.hpp"
#include "tests/support/sim_primitives.hpp"

namespace znni {
namespace {

using test::JobOutcome;
using test::PipelineOf;
using test::PipelineOutcome;
using test::Random;
using test::RandomVolume;
using testing::HasSubstr;

class HeadAndTail : public PipelineOf {};

TEST_F(HeadAndTail, DeliversInOrderAndTellsItsProgress) {
  const auto pipeline = bench_.open(choice_, 1, 1);
  ASSERT_TRUE(pipeline) << pipeline.error().message;
  PipelineOutcome outcome;
  run(bench_, **pipeline, volume_, outcome);
  ASSERT_TRUE(outcome.statistics);
  const std::int64_t patches = outcome.statistics->job.patches;
  EXPECT_GT(patches, 4);
  EXPECT_EQ(outcome.job.calls.front().substr(0, 5), "slab ");
  EXPECT_THAT(outcome.job.calls.back(), HasSubstr("done " + std::to_string(patches) + "/" + std::to_string(patches)));
  EXPECT_GE(outcome.statistics->idle.consumer, 0.0);
  EXPECT_GE(outcome.statistics->idle.producer, 0.0);
  EXPECT_GT(outcome.statistics->job.voxels_per_second, 0.0);
  const StageSeconds& stages = outcome.statistics->job.stages;
  for (const Seconds stage : {stages.gather, stages.head, stages.tail, stages.stitch}) EXPECT_GT(stage, 0.0);
  EXPECT_LE(stages.gather + stages.head, outcome.statistics->job.seconds);
  EXPECT_LE(std::max(stages.tail, stages.stitch), outcome.statistics->job.seconds);
  EXPECT_EQ(outcome.job.gained.patches, patches);
  EXPECT_EQ(outcome.job.gained.voxels, voxels(outcome.job.shape.n));
  EXPECT_DOUBLE_EQ(outcome.job.gained.stages.head, stages.head);
  EXPECT_DOUBLE_EQ(outcome.job.gained.stages.tail, stages.tail);
}

// The first patch is stitched when the GPU has begun the second: a job whose GPU waited for that would not end.
TEST_F(HeadAndTail, APatchIsStitchedWhileTheGpuComputesTheNext) {
  std::atomic<int> calls = 0;
  const auto pipeline = open_and_call([&] { ++calls; });
  ASSERT_TRUE(pipeline) << pipeline.error().message;
  calls = 0;
  PipelineOutcome alone;
  run(bench_, **pipeline, volume_, alone);
  ASSERT_TRUE(alone.statistics);
  const auto patches = static_cast<int>(alone.statistics->job.patches);
  const int of_a_patch = calls / patches;
  ASSERT_TRUE(of_a_patch > 0 && calls == of_a_patch * patches);
  calls = 0;
  JobOutcome kept;
  VolumeJob job = bench_.job(volume_, kept);
  job.sink.slab = [&, slab = job.sink.slab](std::int64_t first_plane, std::int64_t planes) {
    while (calls <= of_a_patch) std::this_thread::yield();
    return slab(first_plane, planes);
  };
  ASSERT_TRUE((*pipeline)->run(job, {}));
  EXPECT_EQ(kept.output, alone.job.output);
}

// A volume whose planes come when arrive() is called, those that are wanted then.
class LateSource final : public PlaneSource {
 public:
  explicit LateSource(const VolumeView& volume) : whole_(volume) {}

  [[nodiscard]] const VolumeShape& shape() const override { return whole_.shape(); }
  void want(const PlaneRange& planes) override {
    const std::lock_guard lock(mutex_);
    wanted_ = planes.last;
  }
  [[nodiscard]] bool here() const override {
    const std::lock_guard lock(mutex_);
    return wanted_ <= arrived_;
  }
  [[nodiscard]] Result<void> wait(const std::stop_token& stop) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [this] { return wanted_ <= arrived_; });
    return wanted_ <= arrived_ ? Result<void>() : Error{ErrorCode::cancelled, "stopped"};
  }
  [[nodiscard]] const std::byte* plane(std::int64_t channel, std::int64_t z) const override {
    return whole_.plane(channel, z);
  }
  void arrive() {
    const std::lock_guard lock(mutex_);
    arrived_ = wanted_;
    changed_.notify_all();
  }

 private:
  WholeVolume whole_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::int64_t wanted_ = 0;
  std::int64_t arrived_ = 0;
};

// Planes that come only while others have their turn: a job that waited for them with the GPU in its hand would not
// end.
TEST_F(HeadAndTail, OthersRunWhilePlanesAreAwaited) {
  const auto pipeline = bench_.open(choice_, 1, 1);
  ASSERT_TRUE(pipeline);
  PipelineOutcome at_once;
  run(bench_, **pipeline, volume_, at_once);
  LateSource source(volume_.view());
  JobOutcome late;
  VolumeJob job = bench_.job(volume_, late);
  int turns = 0;
  job.input.source = &source;
  job.schedule.wanted = [](const Interval&) { return false; };
  job.schedule.between_patches = [&](const Interval&) {
    source.arrive();
    ++turns;
    return Result<void>();
  };
  const Result<PipelineStatistics> ran = (*pipeline)->run(job, {});
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(late.output, at_once.job.output);
  EXPECT_GT(turns, 1);
}

// The planes of every batch are looked at, also where none has to be waited for.
TEST_F(HeadAndTail, AVoxelThatIsNoNumberIsFoundInTheLastPlane) {
  const auto pipeline = bench_.open(choice_, 1, 1);
  ASSERT_TRUE(pipeline);
  RandomVolume spoilt = volume_;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(spoilt.bytes.data() + spoilt.bytes.size() - sizeof(nan), &nan, sizeof(nan));
  WholeVolume whole(spoilt.view());
  CheckedSource source(whole, {});
  JobOutcome outcome;
  VolumeJob job = bench_.job(spoilt, outcome);
  job.input.source = &source;
  job.schedule.wanted = [](const Interval&) { return false; };
  job.schedule.between_patches = [](const Interval&) { return Result<void>(); };
  const Result<PipelineStatistics> ran = (*pipeline)->run(job, {});
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, ErrorCode::invalid_argument) << ran.error().message;
}

TEST_F(HeadAndTail, AFailureOfTheTailEndsBothSides) {
  const auto pipeline = bench_.open(choice_, 1, 1);
  ASSERT_TRUE(pipeline);
  bench_.gpu->fail_work(40);
  PipelineOutcome outcome;
  run(bench_, **pipeline, volume_, outcome);
  ASSERT_FALSE(outcome.statistics);
  EXPECT_EQ(outcome.statistics.error().code, ErrorCode::device_failure);
}

TEST_F(HeadAndTail, AFailureOfTheHeadEndsBothSides) {
  Rung rung = test::split_rung(bench_.network, choice_, 1, 0, bench_.cpu->spec(), bench_.gpu->spec()).value();
  const Backend* const rows[] = {&test::failing_backend(), &test::oracle_backend(), &test::sim_backend()};
  const Catalogue catalogue = Catalogue::make(rows).value();
  rung.segments[0].steps[0].primitive = "test.failing";
  const auto pipeline = Pipeline::open(bench_.network, bench_.weights, rung, catalogue, *bench_.cpu, *bench_.gpu, {});
  ASSERT_TRUE(pipeline) << pipeline.error().message;
  for (int again = 0; again < 2; ++again) {
    PipelineOutcome outcome;
    run(bench_, **pipeline, volume_, outcome);
    ASSERT_FALSE(outcome.statistics);
    EXPECT_THAT(outcome.statistics.error().message, HasSubstr("it was made to fail"));
  }
}

TEST_F(HeadAndTail, AFailureOfTheCallerEndsBothSidesAndTheNextJobRuns) {
  const auto pipeline = bench_.open(choice_, 1, 1);
  ASSERT_TRUE(pipeline);
  JobOutcome kept;
  VolumeJob job = bench_.job(volume_, kept);
  job.sink.deliver = [](const OutputSlab&) -> Result<void> {
    return Error{ErrorCode::unavailable, "no client listens"};
  };
  const Result<PipelineStatistics> ran = (*pipeline)->run(job, {});
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, ErrorCode::unavailable);
  PipelineOutcome outcome;
  run(bench_, **pipeline, volume_, outcome);
  EXPECT_TRUE(outcome.statistics);
}

// Has all planes but those of the third patch, for which a job waits until it is stopped.
class EndingSource final : public PlaneSource {
 public:
  explicit EndingSource(const VolumeView& volume) : whole_(volume) {}

  [[nodiscard]] const VolumeShape& shape() const override { return whole_.shape(); }
  void want(const PlaneRange& /*planes*/) override {}
  [[nodiscard]] bool here() const override { return true; }
  [[nodiscard]] Result<void> wait(const std::stop_token& stop) override {
    if (++waits_ < 3) return {};
    is_awaited = true;
    while (!stop.stop_requested()) std::this_thread::yield();
    is_stopped = true;
    return Error{ErrorCode::cancelled, "stopped"};
  }
  [[nodiscard]] const std::byte* plane(std::int64_t channel, std::int64_t z) const override {
    return whole_.plane(channel, z);
  }

  std::atomic<bool> is_awaited = false;
  std::atomic<bool> is_stopped = false;

 private:
  WholeVolume whole_;
  int waits_ = 0;
};

// The GPU fails at the end of the second patch, which stops the head at the third, and only then the caller with the
// first: nothing may go on without the slab that he refused.
TEST_F(HeadAndTail, AFailureOfTheCallerIsNotTheGpusThatFailsMeanwhile) {
  Random random(5);
  const Vec3 patch = make_geometry(bench_.network, choice_)->patch_input;
  const RandomVolume column = test::random_volume(1, {4 * patch.z, patch.y, patch.x}, ElementType::f32, random);
  EndingSource source(column.view());
  std::function<void()> in_tail = [] {};
  const auto pipeline = open_and_call([&] { in_tail(); });
  ASSERT_TRUE(pipeline);
  const std::int64_t before = bench_.gpu->pieces_of_work();
  int calls = 0;
  in_tail = [&] { ++calls; };
  ASSERT_TRUE((*pipeline)->warm_up({}));
  bench_.gpu->fail_work(2 * (bench_.gpu->pieces_of_work() - before));
  in_tail = [&, left = calls]() mutable {
    while (--left < 0 && !source.is_awaited) std::this_thread::yield();
  };
  JobOutcome kept;
  VolumeJob job = bench_.job(column, kept);
  job.input.source = &source;
  job.sink.deliver = [&](const OutputSlab&) -> Result<void> {
    while (!source.is_stopped) std::this_thread::yield();
    return Error{ErrorCode::unavailable, "no client listens"};
  };
  const Result<PipelineStatistics> ran = (*pipeline)->run(job, {});
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, ErrorCode::unavailable) << ran.error().message;
  EXPECT_FALSE((*pipeline)->gpu_failure());
  in_tail = [] {};
  PipelineOutcome next;
  run(bench_, **pipeline, column, next);
  EXPECT_FALSE(next.statistics);
  EXPECT_TRUE((*pipeline)->gpu_failure()) << "the next job finds it";
}

TEST_F(HeadAndTail, StopsOnBothSidesAndRunsAgain) {
  const auto pipeline = bench_.open(choice_, 1, 1);
  ASSERT_TRUE(pipeline);
  std::stop_source stop;
  JobOutcome kept;
  VolumeJob job = bench_.job(volume_, kept);
  job.account.progress = [&](const JobProgress& progress) {
    if (progress.patches_done == 2) stop.request_stop();
  };
  const Result<PipelineStatistics> ran = (*pipeline)->run(job, stop.get_token());
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, ErrorCode::cancelled);
  EXPECT_EQ(kept.gained.patches, 2) << "were told when they were computed";
  EXPECT_GT(kept.gained.stages.head, 0);
  EXPECT_GT(kept.gained.stages.tail, 0);
  PipelineOutcome outcome;
  run(bench_, **pipeline, volume_, outcome);
  EXPECT_TRUE(outcome.statistics);
}

}  // namespace
}  // namespace znni
