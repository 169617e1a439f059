#include "server/pipeline/job/guests.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/server/pipeline/dense_oracle.hpp"
#include "tests/server/pipeline/engine_bench.hpp"
#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/random_network.hpp"

namespace znni {
namespace {

using test::JobOutcome;
using test::Random;
using test::RandomVolume;
using testing::Contains;
using testing::ElementsAre;

// How a guest ended: nothing until it was said, then once what was said.
struct Ending {
  int times = 0;
  std::optional<Result<JobStatistics>> ended;  // nothing where it did not run
};

// conv 3, pool 2, conv 3: field of view 8; patches of 9 give 2 dense voxels per axis, and S = 4 of them a batch.
class GuestsTest : public testing::Test {
 protected:
  VolumeJob job_for(const RandomVolume& volume, JobOutcome& outcome) const {
    VolumeJob job = test::recorded_job(volume.view(), {1, 2, volume.shape.n - Vec3::cube(7)}, ElementType::f32,
                                       VolumeOrder::channel_major, outcome);
    job.schedule.rung = 0;
    return job;
  }
  RandomVolume volume_of(Vec3 n) { return test::random_volume(1, n, ElementType::f32, random_); }
  static Guest guest_of(const VolumeJob& job, Ending& ending) {
    return {&job, [&ending](const Result<JobStatistics>* ended) {
              ++ending.times;
              if (ended != nullptr) ending.ended = *ended;
            }};
  }
  // Returns a job of five patches: the second batch has entries for three more.
  VolumeJob host(JobOutcome& outcome, std::vector<Guest> guests) {
    VolumeJob job = job_for(volume_, outcome);
    job.schedule.guests = [this, guests = std::move(guests)](std::int64_t entries) {
      asked_.push_back(entries);
      return guests;
    };
    return job;
  }
  void expect_exact(const RandomVolume& volume, const JobOutcome& outcome, const Normalisation& normalisation = {}) {
    const oracle::Values exact = test::dense_oracle(bench_.network, bench_.weights, volume.shape.n,
                                                    test::volume_values(volume.view(), normalisation));
    EXPECT_LE(test::relative_error(test::output_values(outcome), exact), 1e-5);
  }

  const Network network_ = test::simple_network(1);
  const test::EngineBench bench_ = test::open_bench(network_, {test::choice_of(network_, PoolMode::fragments, 0, 4)});
  Random random_{3};
  const RandomVolume volume_ = volume_of({9, 9, 17});
  std::vector<std::int64_t> asked_;
};

TEST_F(GuestsTest, TakePlacesThatAreFreeAndEveryVolumeIsExact) {
  const RandomVolume small = volume_of({9, 8, 9});
  const RandomVolume long_one = volume_of({9, 9, 11});
  JobOutcome outcome;
  JobOutcome small_outcome;
  JobOutcome long_outcome;
  VolumeJob first = job_for(small, small_outcome);
  first.input.normalisation = {2.0F, -0.5F};
  const VolumeJob second = job_for(long_one, long_outcome);
  EXPECT_EQ(bench_.engine->guest_entries(first), 1);
  EXPECT_EQ(bench_.engine->guest_entries(second), 2);
  Ending ending[2];
  const VolumeJob job = host(outcome, {guest_of(first, ending[0]), guest_of(second, ending[1])});
  const Result<JobStatistics> done = bench_.engine->run(job, {});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(asked_, ElementsAre(3));
  for (const Ending& each : ending) {
    EXPECT_EQ(each.times, 1);
    ASSERT_TRUE(each.ended && *each.ended);
    EXPECT_TRUE((*each.ended)->is_guest);
  }
  EXPECT_EQ((*ending[1].ended)->patches, 2);
  EXPECT_THAT(long_outcome.calls, ElementsAre("slab 0+2", "deliver 0+2", "done 2/2 2"));
  EXPECT_EQ(done->patches, 5);
  EXPECT_FALSE(done->is_guest);
  EXPECT_EQ(outcome.gained.patches, 5);
  EXPECT_EQ(outcome.gained.voxels, voxels(outcome.shape.n));
  EXPECT_EQ(long_outcome.gained.patches, 2);
  EXPECT_EQ(long_outcome.gained.voxels, voxels(long_outcome.shape.n));
  EXPECT_EQ(long_outcome.gained.stages.head, 0) << "its host has the time";
  expect_exact(volume_, outcome);
  expect_exact(small, small_outcome, first.input.normalisation);
  expect_exact(long_one, long_outcome);
}

TEST_F(GuestsTest, AreNotAskedForOnAnotherRungOrWhereBatchesAreFull) {
  JobOutcome outcome;
  VolumeJob job = host(outcome, {});
  job.schedule.rung.reset();
  ASSERT_TRUE(bench_.engine->run(job, {}));
  const RandomVolume four = volume_of({9, 11, 11});
  job = job_for(four, outcome);
  job.schedule.guests = [](std::int64_t /*entries*/) -> std::vector<Guest> {
    ADD_FAILURE() << "no entry is free";
    return {};
  };
  ASSERT_TRUE(bench_.engine->run(job, {}));
  EXPECT_TRUE(asked_.empty());
}

TEST_F(GuestsTest, AGuestWithoutRoomIsToldWhyAndNobodyElseIsTheWorse) {
  const RandomVolume small = volume_of({9, 9, 9});
  JobOutcome outcome;
  JobOutcome poor_outcome;
  JobOutcome small_outcome;
  VolumeJob poor = job_for(small, poor_outcome);
  poor.sink.slab = [](std::int64_t, std::int64_t) -> Result<OutputSlab> {
    return Error{ErrorCode::over_budget, "no room for a slab"};
  };
  const VolumeJob other = job_for(small, small_outcome);
  Ending ending[2];
  const VolumeJob job = host(outcome, {guest_of(poor, ending[0]), guest_of(other, ending[1])});
  ASSERT_TRUE(bench_.engine->run(job, {}));
  ASSERT_TRUE(ending[0].ended && !*ending[0].ended);
  EXPECT_EQ(ending[0].ended->error().message, "no room for a slab");
  ASSERT_TRUE(ending[1].ended && *ending[1].ended);
  expect_exact(volume_, outcome);
  expect_exact(small, small_outcome);
}

TEST_F(GuestsTest, WhereTheHostIsStoppedTheyDidNotRunAndGiveTheirSlabsBack) {
  const RandomVolume small = volume_of({9, 9, 9});
  JobOutcome outcome;
  JobOutcome small_outcome;
  VolumeJob guest = job_for(small, small_outcome);
  int abandoned = 0;
  guest.sink.abandon = [&abandoned](const OutputSlab&) { ++abandoned; };
  Ending ending;
  VolumeJob job = host(outcome, {guest_of(guest, ending)});
  std::stop_source stop;
  guest.sink.slab = [&stop, slab = guest.sink.slab](std::int64_t first_plane, std::int64_t planes) {
    stop.request_stop();
    return slab(first_plane, planes);
  };
  const Result<JobStatistics> done = bench_.engine->run(job, stop.get_token());
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::cancelled);
  EXPECT_EQ(ending.times, 1);
  EXPECT_FALSE(ending.ended);
  EXPECT_EQ(abandoned, 1);
  EXPECT_THAT(small_outcome.calls, Contains("slab 0+2"));
}

TEST_F(GuestsTest, WhoIsNone) {
  JobOutcome outcome;
  VolumeJob job = job_for(volume_, outcome);
  EXPECT_EQ(bench_.engine->guest_entries(job), 0) << "more patches than a batch has";
  const RandomVolume small = volume_of({9, 9, 9});
  job = job_for(small, outcome);
  EXPECT_EQ(bench_.engine->guest_entries(job), 1);
  WholeVolume source(small.view());
  job.input.source = &source;
  EXPECT_EQ(bench_.engine->guest_entries(job), 0) << "its planes may not be there";
  job.input.source = nullptr;
  job.schedule.rung.reset();
  EXPECT_EQ(bench_.engine->guest_entries(job), 0);
}

TEST_F(GuestsTest, TheEstimateCountsTheirPartOfABatch) {
  const RandomVolume small = volume_of({9, 9, 9});
  const JobEstimate alone = *bench_.engine->estimate(small.shape);
  EXPECT_EQ(alone.batch, 4);
  EXPECT_EQ(alone.entries, 1);
  EXPECT_EQ(bench_.engine->estimate(volume_.shape)->entries, 0) << "more patches than a batch has";
  const std::optional<JobEstimate> shared = bench_.engine->estimate_as_guest(small.shape);
  ASSERT_TRUE(shared);
  EXPECT_DOUBLE_EQ(shared->predicted_seconds, alone.predicted_seconds / 4);
  EXPECT_FALSE(bench_.engine->estimate_as_guest(volume_.shape));
}

}  // namespace
}  // namespace znni
