#include "server/pipeline/engine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "planner/geometry/patch_grid.hpp"
#include "primitives/core/half.hpp"
#include "tests/server/pipeline/engine_bench.hpp"
#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/oracle_primitive.hpp"
#include "tests/server/pipeline/random_network.hpp"

namespace znni {
namespace {

using test::EngineBench;
using test::JobOutcome;
using test::narrow_bench;
using test::Random;
using test::RandomVolume;
using testing::ElementsAre;
using testing::HasSubstr;

std::string text_of(const GeometryChoice& choice) {
  std::string text = to_string(choice.pass_input) + " S " + std::to_string(choice.S) + " modes";
  for (const PoolingMode& mode : choice.modes) text += " " + to_string(mode);
  return text;
}

TEST(Engine, RandomNetsOnRandomPatchesEqualTheDenseWindow) {
  for (int i = 0; i < test::case_count(40); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    const Network network = test::random_network(random, 20);
    const GeometryChoice choice = test::random_choice(network, random, random.integer(1, 3), 2);
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed) + ", " + text_of(choice));
    const EngineBench made = test::open_bench(network, {choice});
    const Vec3 n = made.engine->field_of_view() + random.vec3(0, 20);
    const Normalisation normalisation{0.5F, 0.25F};
    test::expect_exact(made, test::random_volume(network.f_in, n, ElementType::f32, random), normalisation);
  }
}

TEST(Engine, BranchesThatPoolInAnotherOrderAgree) {
  const Network network = test::network_of_crossed_poolings();
  Random random(3);
  for (const std::int64_t S : {1, 2}) {
    const EngineBench made = test::open_bench(network, {test::choice_of(network, PoolMode::fragments, 1, S)});
    test::expect_exact(made, test::random_volume(1, {17, 20, 24}, ElementType::u8, random), {1.0F / 255.0F, 0.0F});
  }
}

TEST(Engine, AnyPatchGridGivesTheSameVolume) {
  const Network network = test::simple_network(2);
  Random random(5);
  const RandomVolume volume = test::random_volume(1, {26, 31, 37}, ElementType::f32, random);
  std::vector<float> first;
  for (const PoolMode mode : {PoolMode::fragments, PoolMode::plain}) {
    for (const std::int64_t step : {0, 1, 3}) {
      const EngineBench made = test::open_bench(network, {test::choice_of(network, mode, step)});
      const JobOutcome outcome = test::run_job(*made.engine, volume.view());
      ASSERT_TRUE(outcome.statistics) << outcome.statistics.error().message;
      if (first.empty()) first = test::output_values(outcome);
      // The oracle's primitives sum in one order: equal to the last bit.
      EXPECT_EQ(test::output_values(outcome), first) << text_of(made.plan.ladder.front().geometry);
    }
  }
}

TEST(Engine, VolumesSmallerThanThePatchAreLegalDownToTheFieldOfView) {
  const Network network = test::simple_network(1);
  const EngineBench made = test::open_bench(network, {test::choice_of(network, PoolMode::fragments, 6)});
  const Vec3 fov = made.engine->field_of_view();
  Random random(5);
  for (const Vec3 more : {Vec3{0, 0, 0}, Vec3{1, 0, 0}, Vec3{0, 3, 5}, Vec3{30, 0, 2}}) {
    test::expect_exact(made, test::random_volume(1, fov + more, ElementType::f32, random));
  }
}

TEST(Engine, TwoPatchesAtOnceGiveTheSameAsOneAndRepeatTheLast) {
  const Network network = test::simple_network(1);
  Random random(6);
  const RandomVolume volume = test::random_volume(1, {11, 11, 40}, ElementType::f32, random);
  const EngineBench one = test::open_bench(network, {test::choice_of(network, PoolMode::fragments, 1, 1)});
  const EngineBench two = test::open_bench(network, {test::choice_of(network, PoolMode::fragments, 1, 2)});
  const JobOutcome alone = test::run_job(*one.engine, volume.view());
  const JobOutcome together = test::run_job(*two.engine, volume.view());
  ASSERT_TRUE(alone.statistics && together.statistics);
  EXPECT_EQ(alone.statistics->patches % 2, 1) << "the case should end in half a batch";
  EXPECT_EQ(test::output_values(alone), test::output_values(together));
}

TEST(Engine, OutputTypesAndOrders) {
  const Network network = test::simple_network(1);
  const EngineBench made = test::open_bench(network, {test::choice_of(network, PoolMode::fragments, 1)});
  Random random(8);
  const RandomVolume volume = test::random_volume(1, {13, 14, 15}, ElementType::u16, random);
  const Normalisation normalisation{1e-5F, 0.0F};
  const JobOutcome floats = test::run_job(*made.engine, volume.view(), normalisation);
  const std::vector<float> values = test::output_values(floats);
  for (const ElementType type : {ElementType::f16, ElementType::u8}) {
    const JobOutcome other = test::run_job(*made.engine, volume.view(), normalisation, type, VolumeOrder::plane_major);
    ASSERT_TRUE(other.statistics) << other.statistics.error().message;
    const std::vector<float> found = test::output_values(other);
    ASSERT_EQ(found.size(), values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float wanted =
          type == ElementType::u8 ? byte_from_float(values[i]) : float_from_half(half_from_float(values[i]));
      ASSERT_EQ(found[i], wanted) << to_string(type) << " voxel " << i;
    }
  }
}

TEST(Engine, SlabsComeInOrderAsSoonAsTheirRowIsComplete) {
  const EngineBench made = narrow_bench(1);
  Random random(2);
  const JobOutcome outcome =
      test::run_job(*made.engine, test::random_volume(1, {12, 11, 8}, ElementType::f32, random).view());
  EXPECT_THAT(outcome.calls,
              ElementsAre("slab 0+2", "done 1/6 0", "deliver 0+2", "done 2/6 2", "slab 2+2", "done 3/6 2",
                          "deliver 2+2", "done 4/6 4", "slab 4+1", "done 5/6 4", "deliver 4+1", "done 6/6 5"));
}

TEST(Engine, ABatchMayReachIntoTheNextRow) {
  const EngineBench made = narrow_bench(4);
  Random random(2);
  const JobOutcome outcome =
      test::run_job(*made.engine, test::random_volume(1, {12, 11, 8}, ElementType::f32, random).view());
  EXPECT_THAT(outcome.calls, ElementsAre("slab 0+2", "slab 2+2", "deliver 0+2", "deliver 2+2", "done 4/6 4", "slab 4+1",
                                         "deliver 4+1", "done 6/6 5"));
}

TEST(Engine, TellsHowFarThePatchIs) {
  const Network network = test::simple_network(2);
  const EngineBench made = test::open_bench(network, {test::choice_of(network, PoolMode::plain, 1)});
  Random random(4);
  const RandomVolume volume = test::random_volume(1, made.engine->patch(), ElementType::f32, random);
  const JobOutcome outcome = test::run_job(*made.engine, volume.view());
  ASSERT_TRUE(outcome.statistics);
  EXPECT_GE(outcome.under_way.size(), 8 * network.nodes.size());
  EXPECT_TRUE(std::is_sorted(outcome.under_way.begin(), outcome.under_way.end()));
  EXPECT_GT(outcome.under_way.back(), 0.9);
  EXPECT_LT(outcome.under_way.back(), 1);
}

TEST(Engine, StopsBetweenPatches) {
  const EngineBench made = narrow_bench(1);
  Random random(2);
  const RandomVolume volume = test::random_volume(1, {12, 11, 8}, ElementType::f32, random);
  JobOutcome outcome;
  VolumeJob job = test::recorded_job(volume.view(), made.engine->estimate(volume.shape)->output, ElementType::f32,
                                     VolumeOrder::channel_major, outcome);
  std::stop_source stop;
  const auto progress = job.account.progress;
  job.account.progress = [&](const JobProgress& at) {
    progress(at);
    if (at.patches_done == 3) stop.request_stop();
  };
  outcome.statistics = made.engine->run(job, stop.get_token());
  ASSERT_FALSE(outcome.statistics);
  EXPECT_EQ(outcome.statistics.error().code, ErrorCode::cancelled);
  EXPECT_EQ(outcome.calls.back(), "done 3/6 2");
  EXPECT_EQ(outcome.gained.patches, 3);
  EXPECT_GT(outcome.gained.stages.head, 0) << "though it did not succeed";
  test::expect_exact(made, volume);  // and the engine goes on
}

TEST(Engine, AnErrorOfTheCallerEndsTheJobOnly) {
  const EngineBench made = narrow_bench(1);
  Random random(2);
  const RandomVolume volume = test::random_volume(1, {12, 11, 8}, ElementType::f32, random);
  JobOutcome outcome;
  const Shape5 output = made.engine->estimate(volume.shape)->output;
  VolumeJob job = test::recorded_job(volume.view(), output, ElementType::f32, VolumeOrder::channel_major, outcome);
  job.sink.deliver = [](const OutputSlab&) -> Result<void> {
    return Error{ErrorCode::unavailable, "the caller hung up"};
  };
  const Result<JobStatistics> hung_up = made.engine->run(job, {});
  ASSERT_FALSE(hung_up);
  EXPECT_EQ(hung_up.error().message, "the caller hung up");
  job.sink.slab = [](std::int64_t, std::int64_t) -> Result<OutputSlab> {
    return Error{ErrorCode::over_budget, "no room"};
  };
  const Result<JobStatistics> no_room = made.engine->run(job, {});
  ASSERT_FALSE(no_room);
  EXPECT_EQ(no_room.error().code, ErrorCode::over_budget);
  test::expect_exact(made, volume);
}

TEST(Engine, AFailingLayerNamesItselfAndEndsTheJob) {
  const Network network = test::simple_network(1);
  const EngineBench made =
      test::open_bench(network, {test::choice_of(network, PoolMode::fragments, 0)}, test::failing_backend());
  Random random(2);
  const RandomVolume volume = test::random_volume(1, {9, 9, 9}, ElementType::f32, random);
  const JobOutcome outcome = test::run_job(*made.engine, volume.view());
  ASSERT_FALSE(outcome.statistics);
  EXPECT_EQ(outcome.statistics.error().code, ErrorCode::device_failure);
  EXPECT_THAT(outcome.statistics.error().message, HasSubstr("test.failing"));
  EXPECT_EQ(made.engine->warm_up(0, {}).error().code, ErrorCode::device_failure);
}

TEST(Engine, AnObserverIsToldOfEveryCallOfEveryPatch) {
  const EngineBench made = narrow_bench(1);
  Random random(2);
  const RandomVolume volume = test::random_volume(1, {12, 11, 8}, ElementType::f32, random);
  std::vector<int> nodes;
  made.engine->observe([&nodes](const CallTime& call) {
    EXPECT_GE(call.seconds, 0);
    nodes.push_back(call.node);
  });
  EXPECT_EQ(test::run_job(*made.engine, volume.view()).statistics->patches, 6);
  ASSERT_EQ(nodes.size(), 6 * made.network.nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    EXPECT_EQ(nodes[i], static_cast<int>(i % made.network.nodes.size()));
  }
  made.engine->observe({});
  ASSERT_TRUE(test::run_job(*made.engine, volume.view()).statistics);
  EXPECT_EQ(nodes.size(), 6 * made.network.nodes.size());
}

TEST(Engine, EstimateRefusesWithBothNumbers) {
  const EngineBench made = narrow_bench(1);
  const Result<JobEstimate> small = made.engine->estimate({1, {8, 7, 8}});
  ASSERT_FALSE(small);
  EXPECT_EQ(small.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(small.error().message, HasSubstr("8x7x8"));
  EXPECT_THAT(small.error().message, HasSubstr("8x8x8"));
  const Result<JobEstimate> channels = made.engine->estimate({3, {9, 9, 9}});
  ASSERT_FALSE(channels);
  EXPECT_THAT(channels.error().message, HasSubstr("3 channels; the network takes 1"));
  EXPECT_FALSE(made.engine->estimate({1, Vec3::cube(std::int64_t{1} << 40)}));
}

TEST(Engine, TheRungOfLeastPredictedTimeIsTaken) {
  const Network network = test::simple_network(1);
  std::vector<GeometryChoice> ladder;
  for (const std::int64_t step : {8, 2, 0}) ladder.push_back(test::choice_of(network, PoolMode::fragments, step));
  EngineBench made = test::open_bench(network, ladder);
  Random random(4);
  for (const std::int64_t n : {8, 9, 11, 13, 20, 25, 33}) {
    const RandomVolume volume = test::random_volume(1, Vec3::cube(n), ElementType::f32, random);
    const Result<JobEstimate> estimate = made.engine->estimate(volume.shape);
    ASSERT_TRUE(estimate);
    for (std::size_t i = 0; i < ladder.size(); ++i) {
      const Vec3 patch = make_geometry(network, ladder[i])->patch_input;
      const double count = static_cast<double>(patch_count(Vec3::cube(n), patch, Vec3::cube(8)));
      EXPECT_LE(estimate->predicted_seconds, count * made.plan.ladder[i].seconds) << n << " rung " << i;
    }
    EXPECT_EQ(estimate->output, (Shape5{1, 2, Vec3::cube(n - 7)}));
    test::expect_exact(made, volume);
  }
  EXPECT_EQ(made.engine->estimate({1, Vec3::cube(8)})->rung, 2U);
  EXPECT_EQ(made.engine->estimate({1, Vec3::cube(25)})->rung, 0U);
}

TEST(Engine, TouchingItsMemoryChangesNothingAndMayBeStopped) {
  const EngineBench made = narrow_bench(1);
  Random random(2);
  const RandomVolume volume = test::random_volume(1, {12, 11, 8}, ElementType::f32, random);
  const JobOutcome before = test::run_job(*made.engine, volume.view());
  const std::int64_t reserved = made.device->reserved(MemorySpace::host);
  const Result<Seconds> seconds = made.engine->touch_memory({0, made.plan.memory.transient}, {});
  ASSERT_TRUE(seconds) << seconds.error().message;
  EXPECT_GT(*seconds, 0);
  EXPECT_EQ(made.device->reserved(MemorySpace::host), reserved);
  EXPECT_EQ(test::run_job(*made.engine, volume.view()).output, before.output);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(made.engine->touch_memory({0, 1}, stop.get_token()).error().code, ErrorCode::cancelled);
}

TEST(Engine, ManyTinyPatchesAreNoWayToHoldLittle) {
  const Network network = test::simple_network(1);
  const EngineBench made = test::open_bench(
      network, {test::choice_of(network, PoolMode::fragments, 8), test::choice_of(network, PoolMode::fragments, 0)});
  const VolumeShape volume{1, {500, 2000, 2000}, ElementType::f32, VolumeOrder::plane_major};
  // Neither rung holds so little: the one that holds less runs.
  const JobEstimate wide = *made.engine->estimate(volume, ElementType::f32, 1);
  EXPECT_EQ(wide.rung, 0U) << "a list of " << wide.list_bytes << " bytes";
  EXPECT_GE(wide.list_bytes, wide.patches * static_cast<std::int64_t>(sizeof(GridPatch)));
}

TEST(Engine, RungsWithoutPagesAreForLargeJobs) {
  const Network network = test::simple_network(1);
  const EngineBench made = test::open_bench(
      network, {test::choice_of(network, PoolMode::fragments, 8), test::choice_of(network, PoolMode::fragments, 0)});
  const VolumeShape large{1, {200, 200, 200}, ElementType::f32, VolumeOrder::plane_major};
  Random random(2);
  const RandomVolume volume = test::random_volume(1, {15, 15, 15}, ElementType::f32, random);
  const JobEstimate touched = *made.engine->estimate(volume.shape);
  EXPECT_EQ(touched.rung, 0U);
  made.engine->touched_from(1);
  EXPECT_EQ(made.engine->first_touched(), 1U);
  const JobEstimate untouched = *made.engine->estimate(volume.shape);
  EXPECT_EQ(untouched.rung, 1U);
  EXPECT_GT(untouched.predicted_seconds, touched.predicted_seconds);
  EXPECT_EQ(made.engine->estimate(large)->rung, 0U) << "thousands of tiny patches";
  test::expect_exact(made, volume);
  made.engine->touched_from(0);
  EXPECT_EQ(made.engine->estimate(volume.shape)->rung, 0U);
  EXPECT_FALSE(made.engine->beside_streams(1)) << "there are no streams";
}

TEST(Engine, RungsThatWouldHoldTooMuchOfAVolumeAreLeftOut) {
  const Network network = test::simple_network(1);
  const EngineBench made = test::open_bench(
      network, {test::choice_of(network, PoolMode::fragments, 8), test::choice_of(network, PoolMode::fragments, 2)});
  const VolumeShape volume{1, {30, 400, 400}, ElementType::f32, VolumeOrder::plane_major};
  const JobEstimate fast = *made.engine->estimate(volume);
  EXPECT_EQ(fast.rung, 0U);
  const std::int64_t held =
      fast.input_planes * 400 * 400 * 4 + (fast.patch.z - 7) * 2 * 393 * 393 * 4 + fast.list_bytes;
  const auto rung = [&](std::int64_t max_held, ElementType output = ElementType::f32) {
    return made.engine->estimate(volume, output, max_held)->rung;
  };
  EXPECT_EQ(rung(held), 0U);
  EXPECT_EQ(rung(held - 1), 1U);
  EXPECT_EQ(rung(held - 1, ElementType::u8), 0U) << "a quarter of the output";
  EXPECT_EQ(rung(1), 1U) << "none fits: the least";
}

TEST(Engine, AJobKeepsTheRungOfItsEstimate) {
  const Network network = test::simple_network(1);
  const EngineBench made = test::open_bench(
      network, {test::choice_of(network, PoolMode::fragments, 8), test::choice_of(network, PoolMode::fragments, 0)});
  Random random(2);
  const RandomVolume volume = test::random_volume(1, {20, 20, 20}, ElementType::f32, random);
  const JobEstimate fast = *made.engine->estimate(volume.shape);
  JobOutcome outcome;
  VolumeJob job = test::recorded_job(volume.view(), fast.output, ElementType::f32, VolumeOrder::channel_major, outcome);
  job.schedule.rung = 1;
  const Result<JobStatistics> done = made.engine->run(job, {});
  ASSERT_TRUE(done);
  EXPECT_GT(done->patches, fast.patches);
  job.schedule.rung = 2;
  const Result<JobStatistics> none = made.engine->run(job, {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(none.error().message, "the job is for rung 2; the plan has 2");
}

TEST(Engine, RefusesSlabsThatAreNotWhatItAskedFor) {
  const EngineBench made = narrow_bench(1);
  Random random(2);
  const RandomVolume volume = test::random_volume(1, {9, 9, 9}, ElementType::f32, random);
  const JobOutcome u16 = test::run_job(*made.engine, volume.view(), {}, ElementType::u16);
  ASSERT_FALSE(u16.statistics);
  EXPECT_THAT(u16.statistics.error().message, HasSubstr("u16"));
}

TEST(Engine, TellsWhatItHasComputedBeforeItDelivers) {
  const EngineBench made = narrow_bench(1);
  Random random(2);
  const RandomVolume volume = test::random_volume(1, {12, 11, 8}, ElementType::f32, random);
  JobOutcome outcome;
  VolumeJob job = test::recorded_job(volume.view(), made.engine->estimate(volume.shape)->output, ElementType::f32,
                                     VolumeOrder::channel_major, outcome);
  std::vector<std::int64_t> told;  // voxels, at each delivery
  job.sink.deliver = [&, deliver = job.sink.deliver](const OutputSlab& slab) {
    told.push_back(outcome.gained.voxels);
    return deliver(slab);
  };
  const Result<JobStatistics> done = made.engine->run(job, {});
  ASSERT_TRUE(done);
  EXPECT_THAT(told, ElementsAre(2 * 4, 4 * 4, 5 * 4)) << "of slabs of 2, 2 and 1 planes";
  EXPECT_EQ(outcome.gained.patches, done->patches);
  EXPECT_DOUBLE_EQ(outcome.gained.stages.gather, done->stages.gather);
  EXPECT_DOUBLE_EQ(outcome.gained.stages.head, done->stages.head);
  EXPECT_DOUBLE_EQ(outcome.gained.stages.stitch, done->stages.stitch);
}

}  // namespace
}  // namespace znni
