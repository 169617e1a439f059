#include "server/jobs/job_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "tests/server/jobs/served_repository.hpp"
#include "tests/server/pipeline/dense_oracle.hpp"
#include "tests/server/pipeline/engine_bench.hpp"
#include "tests/server/pipeline/hand_plan.hpp"

namespace znni {
namespace {

using test::JobOutcome;
using test::RandomVolume;
using test::wait_until;
using testing::HasSubstr;
using testing::StartsWith;

// conv 3, pool 2, conv 3: field of view 8; patches of 9 give 2 dense voxels per axis, and S = 4 of them a batch.
class JobLineTest : public test::ServedRepository {
 protected:
  JobLineTest() {
    const Backend* const rows[] = {&test::oracle_backend()};
    catalogue_ = Catalogue::make(rows).value();
    shared_.device = test::host_device(std::int64_t{64} << 20);
    open({test::choice_of(network_, PoolMode::fragments, 0, 4)});
  }

  void open(const std::vector<GeometryChoice>& ladder) {
    PlannedModel planned;
    planned.network = network_;
    planned.weights = weights_;
    planned.input.normalisation = {2.0F, -0.5F};
    planned.plan = test::hand_plan(network_, ladder, catalogue_, shared_.device->spec(), random_).value();
    model_.reset();
    model_ = open_model(std::move(planned), catalogue_, *shared_.device, {}, {}).value();
  }
  static ModelEntry entry() {
    ModelEntry made;
    made.name = "net";
    return made;
  }
  void add_job(Vec3 n) {
    volumes_.push_back(test::random_volume(1, n, ElementType::f32, random_));
    outcomes_.emplace_back();
    VolumeJob job = test::recorded_job(volumes_.back().view(), {1, 2, n - Vec3::cube(7)}, ElementType::f32,
                                       VolumeOrder::channel_major, outcomes_.back());
    job.schedule.rung = 0;
    jobs_.push_back(job);
  }
  Result<JobStatistics> run(const std::stop_token& stop = {}, std::size_t together = 100) {
    JobLine line(slot_, shared_, *model_, log_, jobs_, together);
    return line.run(stop);
  }
  // Runs that job alone.
  Result<JobStatistics> run_one(std::size_t number) {
    JobLine line(slot_, shared_, *model_, log_, std::span(jobs_).subspan(number, 1), 1);
    return line.run({});
  }
  // Sets voxel `index` of the volume of job `number`, of one channel.
  void put(std::size_t number, std::size_t index, float value) {
    std::memcpy(volumes_[number].bytes.data() + index * sizeof(value), &value, sizeof(value));
  }
  void expect_exact(std::size_t number) {
    const RandomVolume& volume = volumes_[number];
    const oracle::Values exact = test::dense_oracle(
        network_, weights_, volume.shape.n, test::volume_values(volume.view(), model_->planned.input.normalisation));
    EXPECT_LE(test::relative_error(test::output_values(outcomes_[number]), exact), 1e-5);
  }

  SharedDevice shared_;
  Catalogue catalogue_;
  std::unique_ptr<LoadedModel> model_;
  ModelSlot slot_{entry(), 8};
  const LogSink log_;
  std::deque<RandomVolume> volumes_;
  std::deque<JobOutcome> outcomes_;  // where they stay
  std::vector<VolumeJob> jobs_;
};

TEST_F(JobLineTest, JobsThatComeTogetherShareBatches) {
  for (int i = 0; i < 5; ++i) add_job(Vec3::cube(9));
  add_job({9, 9, 11});
  const Result<JobStatistics> done = run();
  ASSERT_TRUE(done) << done.error().message;
  for (std::size_t i = 0; i < jobs_.size(); ++i) expect_exact(i);
  EXPECT_EQ(done->patches, 5 + 2);
  EXPECT_FALSE(done->is_guest);
  EXPECT_GT(done->voxels_per_second, 0);
  const ModelStatistics counted = slot_.statistics();
  EXPECT_EQ(counted.succeeded, 1) << "one request";
  EXPECT_EQ(counted.inferences, 6);
  EXPECT_EQ(counted.executions, 2);
  EXPECT_EQ(counted.guests, 4) << "three beside the first, the last beside the fifth";
  EXPECT_EQ(counted.voxels, 5 * 8 + 2 * 2 * 4);
  EXPECT_EQ(counted.queued_now + counted.running_now, 0);
  EXPECT_EQ(slot_.guests().possible_entries(), 0);
}

TEST_F(JobLineTest, NoMoreOfThemHaveSlabsAtATimeThanThereIsRoomFor) {
  int open = 0;
  int most = 0;
  for (int i = 0; i < 5; ++i) {
    add_job(Vec3::cube(9));
    jobs_.back().sink.slab = [&, slab = jobs_.back().sink.slab](std::int64_t first_plane, std::int64_t planes) {
      most = std::max(most, ++open);
      return slab(first_plane, planes);
    };
    jobs_.back().sink.deliver = [&, deliver = jobs_.back().sink.deliver](const OutputSlab& slab) {
      --open;
      return deliver(slab);
    };
  }
  ASSERT_TRUE(run({}, 2));
  for (std::size_t i = 0; i < jobs_.size(); ++i) expect_exact(i);
  EXPECT_EQ(most, 2);
  EXPECT_EQ(slot_.statistics().guests, 2) << "the second and the fourth";
}

TEST_F(JobLineTest, AGuestHasNoTimeOfItsOwnBesideTheJobThatItRanWith) {
  for (int i = 0; i < 2; ++i) add_job(Vec3::cube(9));
  const auto start = std::chrono::steady_clock::now();
  const Result<JobStatistics> both = run();
  const std::chrono::duration<Seconds> all = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(both);
  EXPECT_LE(both->seconds, all.count());
  const ModelStatistics counted = slot_.statistics();
  EXPECT_EQ(counted.guests, 1);
  EXPECT_EQ(counted.success_ns, counted.queue_ns + counted.compute_ns);
}

TEST_F(JobLineTest, EachIsToldWhenItsTurnHasCome) {
  std::vector<int> told;  // 10 * job + whether it has its turn
  for (int i = 0; i < 2; ++i) {
    add_job(Vec3::cube(9));
    jobs_.back().account.in_turn = [&told, i](bool in_turn) { told.push_back(10 * i + (in_turn ? 1 : 0)); };
  }
  ASSERT_TRUE(run());
  EXPECT_THAT(told, testing::ElementsAre(0, 1, 11));
}

TEST_F(JobLineTest, TheFirstErrorEndsItAndNobodyStaysInLine) {
  for (int i = 0; i < 3; ++i) add_job(Vec3::cube(9));
  jobs_[1].sink.slab = [](std::int64_t, std::int64_t) -> Result<OutputSlab> {
    return Error{ErrorCode::over_budget, "no room for a slab"};
  };
  const Result<JobStatistics> done = run();
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("no room for a slab"));
  EXPECT_EQ(slot_.statistics().succeeded, 0);
  EXPECT_EQ(slot_.statistics().failed, 1);
  EXPECT_EQ(slot_.statistics().inferences, 0) << "no job gets the first";
  EXPECT_EQ(slot_.guests().possible_entries(), 0);
  EXPECT_FALSE(slot_.queue().taken());
}

TEST_F(JobLineTest, OthersTakeThoseThatWaitForTheFirst) {
  for (int i = 0; i < 2; ++i) add_job(Vec3::cube(9));
  std::optional<Result<Turn>> other = slot_.queue().wait({});
  std::jthread waits([this](const std::stop_token& stop) { EXPECT_TRUE(run(stop)); });  // stopped where this gives up
  ASSERT_TRUE(wait_until([this] { return slot_.statistics().queued_now == 1; }));
  std::vector<Guest> taken = slot_.guests().take(0, 1);
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken.front().job, jobs_.data());
  EXPECT_TRUE(wait_until([this] { return slot_.statistics().running_now == 1; }));
  const Result<JobStatistics> ended = JobStatistics{};
  taken.front().ended(&ended);
  EXPECT_TRUE(wait_until([this] { return slot_.statistics().queued_now == 1; }));
  other.reset();
  EXPECT_TRUE(wait_until([this] { return slot_.statistics().succeeded == 1; }));
  EXPECT_EQ(slot_.statistics().inferences, 2);
}

TEST_F(JobLineTest, AShortJobRunsBetweenTheStepsOfAStream) {
  GeometryChoice stream = test::choice_of(network_, PoolMode::fragments, 6);
  stream.pass_input.z = 8;
  stream.streamed = true;
  open({stream, test::choice_of(network_, PoolMode::fragments, 0)});
  add_job({60, 9, 9});
  add_job(Vec3::cube(9));
  jobs_[1].schedule.rung = 1;
  std::int64_t steps_done = 0;
  std::int64_t steps_when_short_ran = -1;
  jobs_[1].sink.deliver = [&, deliver = jobs_[1].sink.deliver](const OutputSlab& slab) {
    steps_when_short_ran = steps_done;  // it is the short job's turn: the stream stands
    return deliver(slab);
  };
  std::jthread short_job;
  jobs_[0].account.progress = [&](const JobProgress& at) {
    steps_done = at.patches_done;
    if (at.patches_done != 2 || short_job.joinable()) return;
    short_job = std::jthread([&] { EXPECT_TRUE(run_one(1)); });
    EXPECT_TRUE(wait_until([&] { return shared_.turns.waiting() == 1; }));
  };
  const Result<JobStatistics> done = run_one(0);
  ASSERT_TRUE(done) << done.error().message;
  short_job.join();
  EXPECT_GT(done->patches, 3);
  EXPECT_EQ(steps_when_short_ran, 2) << "it waited for longer than a step";
  EXPECT_GT(done->yielded, 0);
  for (std::size_t i = 0; i < jobs_.size(); ++i) expect_exact(i);
}

TEST_F(JobLineTest, WhatIsStandardisedByItselfIsNobodysGuest) {
  model_->planned.input.zscore = true;
  for (int i = 0; i < 2; ++i) add_job(Vec3::cube(9));
  ASSERT_TRUE(run());
  EXPECT_EQ(slot_.statistics().guests, 0);
  jobs_.clear();
  for (int i = 0; i < 2; ++i) {
    add_job(Vec3::cube(9));
    jobs_.back().input.normalised = true;
  }
  ASSERT_TRUE(run());
  EXPECT_EQ(slot_.statistics().guests, 1) << "its client has done that";
}

TEST_F(JobLineTest, AVoxelThatIsNoNumberIsRefused) {
  add_job(Vec3::cube(9));
  put(0, 3, std::nanf(""));
  const Result<JobStatistics> alone = run();
  ASSERT_FALSE(alone);
  EXPECT_THAT(alone.error().message, StartsWith("the input voxel at channel 0, z 0, y 0, x 3 is nan, which"));
  add_job(Vec3::cube(9));
  add_job(Vec3::cube(9));
  jobs_.erase(jobs_.begin());
  put(2, 9, -std::numeric_limits<float>::infinity());
  const Result<JobStatistics> refused = run();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(refused.error().message,
              StartsWith("volume 2 of the batch: the input voxel at channel 0, z 0, y 1, x 0"));
  EXPECT_EQ(slot_.statistics().inferences, 0);
  EXPECT_EQ(slot_.statistics().failed, 2);
  EXPECT_EQ(slot_.statistics().queued_now + slot_.statistics().running_now, 0);
}

TEST_F(JobLineTest, OrReplacedAsTheModelWantsItAndCounted) {
  model_->planned.input.normalisation.instead = 1.25F;
  for (int i = 0; i < 3; ++i) add_job(Vec3::cube(9));
  for (std::size_t i = 0; i < 3; ++i) put(i, 100 * i, std::nanf(""));
  put(2, 728, std::numeric_limits<float>::infinity());
  const Result<JobStatistics> done = run();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->replaced, 4);
  EXPECT_EQ(slot_.statistics().replaced, 4);
  EXPECT_EQ(slot_.statistics().guests, 2);
  for (std::size_t i = 0; i < 3; ++i) put(i, 100 * i, 1.25F);
  put(2, 728, 1.25F);
  for (std::size_t i = 0; i < 3; ++i) expect_exact(i);
}

TEST_F(JobLineTest, APlaneThatComesLaterIsLookedAtWhenItCame) {
  add_job({30, 9, 9});
  WholeVolume source(volumes_.front().view());
  jobs_.front().input.source = &source;
  put(0, 25 * 81 + 40, std::nanf(""));
  const Result<JobStatistics> refused = run();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, StartsWith("the input voxel at channel 0, z 25, y 4, x 4 is nan"));
  EXPECT_GT(outcomes_.front().calls.size(), 0U) << "what came before was sent";
  model_->planned.input.normalisation.instead = 1.25F;
  volumes_.clear();
  outcomes_.clear();
  jobs_.clear();
  add_job({30, 9, 9});
  jobs_.front().input.normalised = true;  // by the client, whose voxels are replaced alike
  WholeVolume again(volumes_.front().view());
  jobs_.front().input.source = &again;
  put(0, 25 * 81 + 40, std::nanf(""));
  const Result<JobStatistics> done = run();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->replaced, 1);
  put(0, 25 * 81 + 40, 1.25F);
  model_->planned.input.normalisation = {};
  expect_exact(0);
}

TEST_F(JobLineTest, AStopEndsIt) {
  add_job(Vec3::cube(9));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(run(stop.get_token()).error().code, ErrorCode::cancelled);
  EXPECT_EQ(slot_.statistics().cancelled, 1);
}

TEST_F(JobLineTest, WhatIsComputedIsCountedAndToldWhileTheJobRuns) {
  add_job({60, 9, 9});
  JobGain told;
  std::stop_source stop;
  jobs_.front().account.gained = [&](const JobGain& gain) {
    told.patches += gain.patches;
    told.voxels += gain.voxels;
    EXPECT_GT(slot_.statistics().stages.head, 0);
    EXPECT_EQ(slot_.statistics().running_voxels, 53 * 2 * 2);
    EXPECT_EQ(slot_.statistics().running_voxels_done, told.voxels);
    stop.request_stop();
  };
  EXPECT_EQ(run(stop.get_token()).error().code, ErrorCode::cancelled);
  EXPECT_EQ(told.patches, 4) << "a batch";
  EXPECT_EQ(told.voxels, 4 * 8);
  EXPECT_GT(slot_.statistics().stages.gather, 0) << "of a job that did not succeed";
  EXPECT_GT(slot_.statistics().stages.stitch, 0);
  EXPECT_EQ(slot_.statistics().running_voxels, 0);
  EXPECT_EQ(slot_.statistics().running_voxels_done, 0);
}

TEST_F(JobLineTest, GuestsTellWhatIsComputedOfThem) {
  std::vector<JobGain> told(3);
  for (int i = 0; i < 3; ++i) {
    add_job(Vec3::cube(9));
    jobs_.back().account.gained = [&told, i](const JobGain& gain) {
      told[static_cast<std::size_t>(i)].patches += gain.patches;
      told[static_cast<std::size_t>(i)].voxels += gain.voxels;
    };
  }
  ASSERT_TRUE(run());
  for (const JobGain& each : told) {
    EXPECT_EQ(each.patches, 1);
    EXPECT_EQ(each.voxels, 8);
  }
}

}  // namespace
}  // namespace znni
