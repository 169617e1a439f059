// Volumes streamed along z: the same output as independent patches and the sliding window give.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <thread>

#include "planner/geometry/patch_grid.hpp"
#include "planner/network/swap_axes.hpp"
#include "server/volume/plane_ring.hpp"
#include "tests/server/pipeline/dense_oracle.hpp"
#include "tests/server/pipeline/engine_bench.hpp"
#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/random_network.hpp"
#include "tests/server/pipeline/streams.hpp"

namespace znni {
namespace {

using test::EngineBench;
using test::JobOutcome;
using test::Random;
using test::RandomVolume;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Stream, RandomNetsThicknessesAndCrossSectionsEqualTheDenseWindow) {
  int streams = 0;
  int in_phases = 0;
  for (int i = 0; i < test::case_count(60); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    const Network network = test::random_network(random, 16);
    const std::optional<GeometryChoice> choice = test::random_stream(network, random);
    if (!choice) continue;
    ++streams;
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed) + ", " + test::text_of(*choice));
    in_phases += make_geometry(network, *choice)->phases > 1 ? 1 : 0;
    const EngineBench made = test::open_bench(network, {*choice});
    const std::int64_t max_held = random.chance(0.5) ? random.integer(1, 40000) : saturated;
    const Vec3 more = {random.integer(0, 30), random.integer(0, 12), 3};
    const Vec3 n = made.engine->field_of_view() + swap_axes(more, choice->axis);
    test::expect_exact(made, test::random_volume(network.f_in, n, ElementType::f32, random), {0.5F, 0.25F}, max_held);
  }
  // Few cases may have none.
  EXPECT_GE(streams, test::case_count(60) / 60 * 13);
  EXPECT_GE(in_phases, test::case_count(60) / 60);
}

TEST(Stream, EqualsIndependentPatchesAndItselfBitByBit) {
  const Network network = test::simple_network(2);
  Random random(5);
  const RandomVolume volume = test::random_volume(1, {45, 31, 30}, ElementType::f32, random);
  const EngineBench patches = test::open_bench(network, {test::choice_of(network, PoolMode::fragments, 1)});
  const std::vector<float> wanted = test::output_values(test::run_job(*patches.engine, volume.view()));
  for (const std::int64_t planes : {4, 8, 12, 60}) {
    for (const std::int64_t step : {0, 2, 9}) {
      for (const std::int64_t stem_slab : {0, 1}) {
        const GeometryChoice choice = test::stream_of(network, planes, step, stem_slab);
        SCOPED_TRACE(test::text_of(choice));
        const EngineBench made = test::open_bench(network, {choice});
        const std::vector<float> found = test::output_values(test::run_job(*made.engine, volume.view()));
        // The oracle's primitives sum in one order: equal to the last bit.
        EXPECT_EQ(found, wanted);
        EXPECT_EQ(test::output_values(test::run_job(*made.engine, volume.view())), found);
      }
    }
  }
}

TEST(Stream, BranchesThatPoolInAnotherOrderAgree) {
  const Network network = test::network_of_crossed_poolings();
  Random random(3);
  const EngineBench made = test::open_bench(network, {test::stream_of(network, 6, 1)});
  test::expect_exact(made, test::random_volume(1, {40, 20, 24}, ElementType::u8, random), {1.0F / 255.0F, 0.0F});
}

TEST(Stream, VolumesDownToTheFieldOfViewAndThinnerThanAStep) {
  const Network network = test::simple_network(1);
  const EngineBench made = test::open_bench(network, {test::stream_of(network, 20, 2)});
  Random random(5);
  for (const Vec3 more : {Vec3{0, 0, 0}, Vec3{1, 0, 0}, Vec3{0, 3, 5}, Vec3{12, 0, 0}, Vec3{13, 1, 2}}) {
    test::expect_exact(made, test::random_volume(1, Vec3::cube(8) + more, ElementType::f32, random));
  }
}

// Opens conv 3, pool 2, conv 3: field of view 8; steps of 4 planes of a cross-section that gives 2 x 2.
EngineBench narrow_bench() {
  const Network network = test::simple_network(1);
  return test::open_bench(network, {test::stream_of(network, 4, 0)});
}

// A flat volume, all along its longest axis.
TEST(Stream, ColumnsAlongXDeliverRowAfterRow) {
  const Network network = test::simple_network(1);
  GeometryChoice choice = test::stream_of(network, 4, 0);
  choice.axis = 2;
  const EngineBench made = test::open_bench(network, {choice});
  EXPECT_EQ(made.engine->patch(), (Vec3{9, 9, 4 + 7}));
  EXPECT_EQ(made.engine->reserved_bytes(), made.plan.memory.persistent + made.plan.memory.transient);
  Random random(2);
  const RandomVolume volume = test::random_volume(1, {11, 9, 18}, ElementType::f32, random);
  const JobOutcome outcome = test::run_job(*made.engine, volume.view());
  EXPECT_THAT(outcome.calls, ElementsAre("slab 0+2", "done 1/10 0", "done 2/10 0", "done 3/10 0", "done 4/10 0",
                                         "deliver 0+2", "done 5/10 2", "slab 2+2", "done 6/10 2", "done 7/10 2",
                                         "done 8/10 2", "done 9/10 2", "deliver 2+2", "done 10/10 4"));
  EXPECT_EQ(made.engine->estimate(volume.shape)->patch, (Vec3{9, 9, 4 + 7}));
  EXPECT_EQ(made.engine->estimate(volume.shape)->input_planes, 9);
  test::expect_exact(made, volume, {2.0F, 0.5F});
}

TEST(Stream, OneColumnDeliversAsItGoes) {
  const EngineBench made = narrow_bench();
  Random random(2);
  const RandomVolume volume = test::random_volume(1, {18, 9, 9}, ElementType::f32, random);
  const JobOutcome outcome = test::run_job(*made.engine, volume.view());
  EXPECT_THAT(outcome.calls, ElementsAre("slab 0+1", "done 1/5 0", "deliver 0+1", "done 2/5 1", "slab 1+4",
                                         "deliver 1+4", "done 3/5 5", "slab 5+4", "deliver 5+4", "done 4/5 9",
                                         "slab 9+2", "deliver 9+2", "done 5/5 11"));
  EXPECT_EQ(made.engine->estimate(volume.shape)->patch, (Vec3{4 + 7, 9, 9}));
  EXPECT_EQ(made.engine->estimate(volume.shape)->patches, 5);
}

TEST(Stream, SeveralColumnsDeliverWhenAllHavePassedAndBeginAnewWhereTheirOutputMayNotWait) {
  const EngineBench made = narrow_bench();
  Random random(2);
  const RandomVolume volume = test::random_volume(1, {18, 9, 11}, ElementType::f32, random);
  const JobOutcome whole = test::run_job(*made.engine, volume.view());
  EXPECT_THAT(whole.calls,
              ElementsAre("slab 0+11", "done 1/10 0", "done 2/10 0", "done 3/10 0", "done 4/10 0", "done 5/10 0",
                          "done 6/10 0", "done 7/10 0", "done 8/10 0", "done 9/10 0", "deliver 0+11", "done 10/10 11"));
  EXPECT_EQ(made.engine->estimate(volume.shape)->patch, (Vec3{18, 9, 9}));
  const std::int64_t max_held = test::held_for(5, made, volume.shape);  // bands of 5 fill 3 steps
  const JobOutcome bands = test::run_holding(made, volume, max_held);
  const JobEstimate estimate = *made.engine->estimate(volume.shape, ElementType::f32, max_held);
  EXPECT_EQ(estimate.patch, (Vec3{5 + 7, 9, 9}));
  EXPECT_EQ(estimate.patches, 2 * 3 + (2 + 3) + (1 + 2));  // one of the two columns goes on
  EXPECT_EQ(estimate.max_held, max_held);
  EXPECT_EQ(bands.statistics->patches, estimate.patches);
  EXPECT_THAT(bands.calls, testing::IsSupersetOf({"slab 0+5", "slab 5+5", "slab 10+1", "deliver 10+1"}));
  EXPECT_EQ(test::output_values(bands), test::output_values(whole));
}

// Fields of view 3, 4 and 8 in steps of 2 planes: what the first steps would give of the deeper nodes is not read.
TEST(Stream, FirstStepsLeaveOutNodesThatWouldDependOnWhatCameBefore) {
  const Network network = test::simple_network(1);
  Random random(2);
  const RandomVolume volume = test::random_volume(1, {17, 9, 9}, ElementType::f32, random);
  for (const bool phases : {false, true}) {
    const GeometryChoice choice = phases ? test::phases_of(network, 2, 0) : test::stream_of(network, 2, 0);
    const EngineBench made = test::open_bench(network, {choice});
    const int columns = phases ? 4 : 1;
    std::map<int, int> calls;
    made.engine->observe([&](const CallTime& call) { ++calls[call.node]; });
    const JobOutcome outcome = test::run_job(*made.engine, volume.view());
    EXPECT_EQ(outcome.statistics->patches, columns * 9);
    EXPECT_EQ(calls, (std::map<int, int>{{0, columns * 8}, {1, columns * 8}, {2, columns * 6}}));
    const Rung& rung = made.plan.ladder.front();
    const std::vector<Step>& steps = rung.segments.front().steps;
    const Seconds less = steps[0].seconds + steps[1].seconds + 3 * steps[2].seconds;
    EXPECT_DOUBLE_EQ(made.engine->estimate(volume.shape)->predicted_seconds, columns * (9 * rung.seconds - less));
    calls.clear();
    JobOutcome whole;
    VolumeJob job = test::recorded_job(volume.view(), made.engine->estimate(volume.shape)->output, ElementType::f32,
                                       VolumeOrder::channel_major, whole);
    job.schedule.whole_steps = true;
    ASSERT_TRUE(made.engine->run(job, {}));
    EXPECT_EQ(calls, (std::map<int, int>{{0, columns * 9}, {1, columns * 9}, {2, columns * 9}}));
    EXPECT_EQ(test::output_values(whole), test::output_values(outcome));
  }
}

// A job that was interrupted goes on where its last slab ended, streamed or not.
TEST(Stream, AJobMayBeginAtAnyPlane) {
  const Network network = test::simple_network(1);
  Random random(2);
  const RandomVolume volume = test::random_volume(1, {18, 9, 11}, ElementType::f32, random);
  GeometryChoice along_x = test::stream_of(network, 4, 0);
  along_x.axis = 2;
  const GeometryChoice patches = test::choice_of(network, PoolMode::fragments, 1);
  const GeometryChoice phases = test::phases_of(network, 4, 0);
  for (const GeometryChoice& choice : {test::stream_of(network, 4, 0), along_x, phases, patches}) {
    const EngineBench made = test::open_bench(network, {choice});
    const std::vector<float> wanted = test::output_values(test::run_job(*made.engine, volume.view()));
    for (std::int64_t first = 0; first < 11; ++first) {
      SCOPED_TRACE(test::text_of(choice) + " from plane " + std::to_string(first));
      JobOutcome outcome;
      const Shape5 output = made.engine->estimate(volume.shape)->output;
      VolumeJob job = test::recorded_job(volume.view(), output, ElementType::f32, VolumeOrder::channel_major, outcome);
      job.sink.first_plane = first;
      ASSERT_TRUE(made.engine->run(job, {}));
      const std::vector<float> found = test::output_values(outcome);
      const auto plane = static_cast<std::size_t>(output.n.y * output.n.x);
      for (std::size_t i = 0; i < found.size(); ++i) {
        const bool computed = static_cast<std::int64_t>(i / plane) % output.n.z >= first;
        EXPECT_TRUE(!computed || found[i] == wanted[i]) << i;
      }
      EXPECT_EQ(outcome.calls.front().rfind("slab " + std::to_string(first) + "+", 0), 0U);
      EXPECT_THAT(outcome.calls.back(), testing::EndsWith(" 11"));
    }
  }
}

// A volume that is never in memory as a whole: no more planes than the estimate says, written while the job runs.
TEST(Stream, InputMayFlowThroughAFewPlanes) {
  const Network network = test::simple_network(1);
  Random random(2);
  for (const Vec3 n : {Vec3{40, 9, 9}, Vec3{40, 9, 11}}) {
    RandomVolume volume = test::random_volume(1, n, ElementType::f32, random);
    volume.shape.order = VolumeOrder::plane_major;  // of one channel: the same bytes
    GeometryChoice along_y = test::stream_of(network, 4, 0);
    along_y.axis = 1;
    const GeometryChoice patches = test::choice_of(network, PoolMode::fragments, 1);
    for (const GeometryChoice& choice :
         {test::stream_of(network, 4, 0), along_y, test::phases_of(network, 4, 0), patches}) {
      SCOPED_TRACE(test::text_of(choice) + " over " + to_string(n));
      const EngineBench made = test::open_bench(network, {choice});
      const std::int64_t max_held =
          made.engine->estimate(volume.shape)->patch.z < n.z ? saturated : test::held_for(5, made, volume.shape);
      const std::vector<float> wanted = test::output_values(test::run_holding(made, volume, max_held));
      const Result<JobEstimate> estimate = made.engine->estimate(volume.shape, ElementType::f32, max_held);
      EXPECT_LE(estimate->input_planes, n.z / 2);
      std::vector<std::byte> memory(static_cast<std::size_t>(estimate->input_planes * n.y * n.x * 4));
      PlaneRing ring(memory, volume.shape);
      std::jthread writer([&] { EXPECT_TRUE(ring.write(volume.bytes, {})); });
      JobOutcome outcome;
      VolumeJob job = test::recorded_job({nullptr, volume.shape}, estimate->output, ElementType::f32,
                                         VolumeOrder::channel_major, outcome);
      job.input.source = &ring;
      job.schedule.max_held = max_held;
      ASSERT_TRUE(made.engine->run(job, {}));
      EXPECT_EQ(test::output_values(outcome), wanted);
    }
  }
}

TEST(Stream, ASourceThatFailsEndsTheJobAndOneOfAnotherVolumeIsRefused) {
  const EngineBench made = narrow_bench();
  const VolumeShape shape{1, {18, 9, 9}, ElementType::f32, VolumeOrder::plane_major};
  std::vector<std::byte> memory(4 * 9 * 9 * 4);
  PlaneRing ring(memory, shape);
  ring.fail({ErrorCode::unavailable, "the sender is gone"});
  JobOutcome outcome;
  VolumeJob job = test::recorded_job({nullptr, shape}, made.engine->estimate(shape)->output, ElementType::f32,
                                     VolumeOrder::channel_major, outcome);
  job.input.source = &ring;
  EXPECT_EQ(made.engine->run(job, {}).error().message, "the sender is gone");
  job.input.volume.shape.n.z = 17;
  EXPECT_THAT(made.engine->run(job, {}).error().message, HasSubstr("the source gives a volume of 18x9x9 voxels"));
}

TEST(Stream, AJobThatBeginsBeyondItsOutputIsRefused) {
  const EngineBench made = narrow_bench();
  Random random(2);
  const RandomVolume volume = test::random_volume(1, {18, 9, 9}, ElementType::f32, random);
  JobOutcome outcome;
  VolumeJob job = test::recorded_job(volume.view(), made.engine->estimate(volume.shape)->output, ElementType::f32,
                                     VolumeOrder::channel_major, outcome);
  job.sink.first_plane = 11;
  EXPECT_THAT(made.engine->run(job, {}).error().message, HasSubstr("begins at output plane 11; the output has 11"));
  job.sink.first_plane = -1;
  EXPECT_THAT(made.engine->run(job, {}).error().message, HasSubstr("output plane -1; 0 or more is right"));
}

TEST(Stream, WhatAnotherJobLeftIsForgotten) {
  const EngineBench made = narrow_bench();
  Random random(2);
  const RandomVolume volume = test::random_volume(1, {18, 9, 9}, ElementType::f32, random);
  const RandomVolume other = test::random_volume(1, {30, 9, 9}, ElementType::f32, random);
  const std::vector<float> wanted = test::output_values(test::run_job(*made.engine, volume.view()));
  JobOutcome cut;
  VolumeJob job = test::recorded_job(other.view(), made.engine->estimate(other.shape)->output, ElementType::f32,
                                     VolumeOrder::channel_major, cut);
  std::stop_source stop;
  job.account.progress = [&](const JobProgress& at) {
    if (at.patches_done == 3) stop.request_stop();
  };
  EXPECT_EQ(made.engine->run(job, stop.get_token()).error().code, ErrorCode::cancelled);
  EXPECT_EQ(test::output_values(test::run_job(*made.engine, volume.view())), wanted);
  EXPECT_TRUE(made.engine->warm_up(0, {}));
  EXPECT_EQ(test::output_values(test::run_job(*made.engine, volume.view())), wanted);
}

// Another job would destroy what a column keeps, so it may run between columns only. In three bands of two columns four
// begin, and two go on.
TEST(Stream, AnyOtherJobRunsBetweenColumnsOnly) {
  const EngineBench made = narrow_bench();
  Random random(2);
  const RandomVolume volume = test::random_volume(1, {18, 9, 11}, ElementType::f32, random);
  const RandomVolume other = test::random_volume(1, {15, 9, 9}, ElementType::f32, random);
  const std::vector<float> wanted = test::output_values(test::run_job(*made.engine, volume.view()));
  for (const bool bands : {false, true}) {
    JobOutcome outcome;
    VolumeJob job = test::recorded_job(volume.view(), made.engine->estimate(volume.shape)->output, ElementType::f32,
                                       VolumeOrder::channel_major, outcome);
    if (bands) job.schedule.max_held = test::held_for(5, made, volume.shape);
    int others = 0;
    job.schedule.between_patches = [&](const Interval& interval) -> Result<void> {
      if (interval.within_stream) return {};
      ++others;
      EXPECT_TRUE(test::run_job(*made.engine, other.view()).statistics);
      return {};
    };
    ASSERT_TRUE(made.engine->run(job, {}));
    EXPECT_EQ(others, bands ? 3 : 1);
    EXPECT_EQ(test::output_values(outcome), wanted);
  }
}

// Large volumes go through the larger patches of the middle rung in less time, small ones through those of the last.
TEST(Stream, TheFastestRungBesideStreamsIsTakenWhereverItStands) {
  const Network network = test::simple_network(1);
  const EngineBench made =
      test::open_bench(network, {test::stream_of(network, 8, 20), test::choice_of(network, PoolMode::fragments, 2),
                                 test::choice_of(network, PoolMode::fragments, 0)});
  ASSERT_TRUE(made.engine->beside_streams(1));
  ASSERT_TRUE(made.engine->beside_streams(2));
  const auto taken = [&](Vec3 n) { return made.engine->estimate_beside_streams({1, n})->rung; };
  EXPECT_EQ(taken({30, 30, 30}), 1U);
  EXPECT_EQ(taken({9, 9, 9}), 2U);
}

// Small patches keep clear of what a column keeps: they run between its steps too.
TEST(Stream, SmallPatchesRunBetweenSteps) {
  const Network network = test::simple_network(1);
  const EngineBench made =
      test::open_bench(network, {test::stream_of(network, 8, 6), test::choice_of(network, PoolMode::fragments, 0)});
  ASSERT_FALSE(made.engine->beside_streams(0));
  ASSERT_TRUE(made.engine->beside_streams(1));
  ASSERT_FALSE(made.engine->beside_streams(2));
  const ByteRange place = made.engine->memory_of(1);
  EXPECT_LE(place.first + place.bytes, made.plan.memory.transient);
  Random random(2);
  const RandomVolume volume = test::random_volume(1, {30, 9, 11}, ElementType::f32, random);
  const RandomVolume other = test::random_volume(1, {9, 9, 9}, ElementType::f32, random);
  JobOutcome outcome;
  VolumeJob job = test::recorded_job(volume.view(), made.engine->estimate(volume.shape)->output, ElementType::f32,
                                     VolumeOrder::channel_major, outcome);
  job.schedule.rung = 0;
  ASSERT_TRUE(made.engine->run(job, {}));
  const std::vector<float> wanted = test::output_values(outcome);
  const std::optional<JobEstimate> small = made.engine->estimate_beside_streams(other.shape);
  ASSERT_TRUE(small);
  EXPECT_EQ(small->rung, 1U);
  int others = 0;
  job.schedule.between_patches = [&](const Interval& interval) -> Result<void> {
    JobOutcome beside;
    VolumeJob short_job =
        test::recorded_job(other.view(), small->output, ElementType::f32, VolumeOrder::channel_major, beside);
    short_job.schedule.rung = small->rung;
    others += interval.within_stream ? 1 : 0;
    EXPECT_TRUE(made.engine->run(short_job, {}));
    EXPECT_LE(
        test::relative_error(test::output_values(beside), test::dense_oracle(made.network, made.weights, other.shape.n,
                                                                             test::volume_values(other.view(), {}))),
        1e-5);
    return {};
  };
  ASSERT_TRUE(made.engine->run(job, {}));
  EXPECT_GT(others, 1);
  EXPECT_EQ(test::output_values(outcome), wanted);
}

TEST(Stream, HistoriesAreCountedInThePlanAndReserved) {
  const Network network = test::simple_network(2);
  const EngineBench made = test::open_bench(network, {test::stream_of(network, 8, 3, 1)});
  const std::int64_t planned = made.plan.memory.persistent + made.plan.memory.transient;
  EXPECT_EQ(made.engine->reserved_bytes(), planned);
  EXPECT_EQ(made.device->reserved(MemorySpace::host), planned);
}

// With its steps counted exactly, a stream stands beside smaller patches for smaller volumes.
TEST(Stream, TheRungOfLeastPredictedTimeIsTaken) {
  const Network network = test::simple_network(1);
  const std::vector<GeometryChoice> ladder = {test::stream_of(network, 8, 6),
                                              test::choice_of(network, PoolMode::fragments, 0)};
  const EngineBench made = test::open_bench(network, ladder);
  Random random(4);
  std::set<std::size_t> taken;
  for (const std::int64_t n : {8, 9, 14, 40}) {
    const RandomVolume volume = test::random_volume(1, {n, n / 2 + 8, n / 2 + 8}, ElementType::f32, random);
    const Result<JobEstimate> estimate = made.engine->estimate(volume.shape);
    for (std::size_t i = 0; i < ladder.size(); ++i) {
      const std::int64_t steps = patch_count(volume.shape.n, *make_geometry(network, ladder[i]), Vec3::cube(8));
      EXPECT_LE(estimate->predicted_seconds, static_cast<double>(steps) * made.plan.ladder[i].seconds) << n;
    }
    taken.insert(estimate->rung);
    test::expect_exact(made, volume);
  }
  EXPECT_EQ(taken.size(), 2U);
}

}  // namespace
}  // namespace znni
