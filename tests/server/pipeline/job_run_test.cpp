// One job on several sockets; on one, engine_test.cpp and stream_test.cpp.
#include "server/pipeline/job_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <vector>

#include "server/volume/plane_source.hpp"
#include "tests/server/pipeline/engine_bench.hpp"
#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/random_network.hpp"

namespace znni {
namespace {

using test::EngineBench;
using test::JobOutcome;
using test::Random;
using test::RandomVolume;
using testing::ElementsAre;
using testing::HasSubstr;

EngineBench open_on(int sockets, const Network& network, const GeometryChoice& choice,
                    const Backend& backend = test::oracle_backend()) {
  return test::open_bench(network, {choice}, backend, sockets);
}

// Draws patches or a stream.
std::optional<GeometryChoice> drawn_choice(const Network& network, Random& random) {
  std::optional<GeometryChoice> patches = test::random_choice(network, random, random.integer(1, 2), 2);
  return random.chance(0.5) ? test::random_stream(network, random) : patches;
}

TEST(JobRun, AnyNumberOfSocketsGivesTheSameVolumeBitByBit) {
  for (int i = 0; i < test::case_count(12); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed));
    const Network network = test::random_network(random, 16);
    const std::optional<GeometryChoice> choice = drawn_choice(network, random);
    if (!choice) continue;
    const RandomVolume volume = test::random_volume(network.f_in, Vec3::cube(30), ElementType::f32, random);
    const std::int64_t max_held = random.chance(0.5) ? random.integer(1, 40000) : saturated;
    std::vector<float> first;
    for (const int sockets : {1, 2, 3}) {
      const Backend& backend = sockets == 3 ? test::in_place_backend() : test::oracle_backend();
      const EngineBench made = open_on(sockets, network, *choice, backend);
      const JobOutcome outcome =
          test::run_job(*made.engine, volume.view(), {}, ElementType::f32, VolumeOrder::channel_major, max_held);
      ASSERT_TRUE(outcome.statistics) << outcome.statistics.error().message;
      if (first.empty()) first = test::output_values(outcome);
      EXPECT_EQ(test::output_values(outcome), first) << sockets << " sockets";
    }
  }
}

// Opens conv 3, pool 2, conv 3: field of view 8; a patch of 9 gives 2 dense voxels per axis.
EngineBench narrow_bench(int sockets) {
  const Network network = test::simple_network(1);
  return open_on(sockets, network, test::choice_of(network, PoolMode::fragments, 0));
}

RandomVolume narrow_volume() {
  Random random(2);
  return test::random_volume(1, {12, 11, 8}, ElementType::f32, random);
}

TEST(JobRun, ARoundIsAPatchForEachSocketAndSlabsStayInOrder) {
  const EngineBench made = narrow_bench(4);
  const JobOutcome outcome = test::run_job(*made.engine, narrow_volume().view());
  EXPECT_THAT(outcome.calls, ElementsAre("slab 0+2", "slab 2+2", "deliver 0+2", "deliver 2+2", "done 4/6 4", "slab 4+1",
                                         "deliver 4+1", "done 6/6 5"));
  EXPECT_EQ(outcome.gained.patches, 6);
  EXPECT_TRUE(std::is_sorted(outcome.under_way.begin(), outcome.under_way.begin() + 4 * 3));
  EXPECT_LT(outcome.under_way.back(), 2);
}

TEST(JobRun, SaysHowLongEachLayerTookOnAllSocketsTogether) {
  const EngineBench made = narrow_bench(2);
  const JobOutcome outcome = test::run_job(*made.engine, narrow_volume().view());
  ASSERT_TRUE(outcome.statistics);
  const StageSeconds& stages = outcome.statistics->stages;
  ASSERT_EQ(stages.layers.size(), 1 + made.network.nodes.size());
  Seconds sum = 0;
  for (const Seconds layer : stages.layers) sum += layer;
  EXPECT_GT(sum, 0);
  EXPECT_LE(sum, stages.head);
}

// Lets the job's caller have memory for at most `most` slabs at a time, of which `open` are taken.
void hold_slabs(std::int64_t most, std::int64_t& open, VolumeJob& job) {
  job.sink.slab = [most, &open, slab = job.sink.slab](std::int64_t first, std::int64_t planes) -> Result<OutputSlab> {
    if (open == most) return Error{ErrorCode::over_budget, "no more slabs fit"};
    ++open;
    return slab(first, planes);
  };
  job.sink.deliver = [&open, deliver = job.sink.deliver](const OutputSlab& slab) {
    --open;
    return deliver(slab);
  };
}

TEST(JobRun, AllSocketsWorkWithAsManySlabsAsTheEstimateSays) {
  const EngineBench made = narrow_bench(4);
  const RandomVolume volume = narrow_volume();
  const JobEstimate estimate = *made.engine->estimate(volume.shape);
  JobOutcome outcome;
  VolumeJob job =
      test::recorded_job(volume.view(), estimate.output, ElementType::f32, VolumeOrder::channel_major, outcome);
  std::int64_t open = 0;
  hold_slabs(estimate.slabs, open, job);
  ASSERT_TRUE(made.engine->run(job, {}));
  EXPECT_THAT(outcome.calls, ElementsAre("slab 0+2", "slab 2+2", "deliver 0+2", "deliver 2+2", "done 4/6 4", "slab 4+1",
                                         "deliver 4+1", "done 6/6 5"));
}

TEST(JobRun, FewerSocketsWorkWhereSlabsOfSoManyRowsHaveNoRoom) {
  const EngineBench made = narrow_bench(4);
  const RandomVolume volume = narrow_volume();
  const JobOutcome whole = test::run_job(*made.engine, volume.view());
  JobOutcome outcome;
  VolumeJob job = test::recorded_job(volume.view(), made.engine->estimate(volume.shape)->output, ElementType::f32,
                                     VolumeOrder::channel_major, outcome);
  std::int64_t open = 0;
  hold_slabs(1, open, job);
  ASSERT_TRUE(made.engine->run(job, {}));
  EXPECT_THAT(outcome.calls, ElementsAre("slab 0+2", "deliver 0+2", "done 2/6 2", "slab 2+2", "deliver 2+2",
                                         "done 4/6 4", "slab 4+1", "deliver 4+1", "done 6/6 5"));
  EXPECT_EQ(test::output_values(outcome), test::output_values(whole));
  open = 1;
  EXPECT_EQ(made.engine->run(job, {}).error().code, ErrorCode::over_budget);
}

// Two columns for four sockets.
TEST(JobRun, ColumnsOfARowAreTakenStepByStepSideBySide) {
  const Network network = test::simple_network(1);
  GeometryChoice choice = test::choice_of(network, PoolMode::fragments, 0);
  choice.pass_input.z = 4;
  choice.streamed = true;
  const EngineBench made = open_on(4, network, choice);
  Random random(2);
  const RandomVolume volume = test::random_volume(1, {18, 9, 11}, ElementType::f32, random);
  JobOutcome outcome;
  const JobEstimate estimate = *made.engine->estimate(volume.shape);
  VolumeJob job =
      test::recorded_job(volume.view(), estimate.output, ElementType::f32, VolumeOrder::channel_major, outcome);
  std::vector<bool> within;
  job.schedule.between_patches = [&](const Interval& interval) -> Result<void> {
    within.push_back(interval.within_stream);
    return {};
  };
  ASSERT_TRUE(made.engine->run(job, {}));
  EXPECT_THAT(outcome.calls, ElementsAre("slab 0+11", "done 2/10 0", "done 4/10 0", "done 6/10 0", "done 8/10 0",
                                         "deliver 0+11", "done 10/10 11"));
  EXPECT_THAT(within, ElementsAre(true, true, true, true));
  const Rung& rung = made.plan.ladder[0];
  const Seconds less = rung.segments[0].steps[2].seconds;  // of the last node, in the first step
  EXPECT_DOUBLE_EQ(estimate.predicted_seconds, static_cast<double>(estimate.patches) / 2 * rung.seconds - less);
}

// The four phases of one column run side by side, one on each socket.
TEST(JobRun, PhasesOfAColumnAreTakenSideBySide) {
  const Network network = test::simple_network(1);
  const GeometryChoice choice{{4, 8, 8}, 1, {PoolingMode({1, 2, 2}, false)}, 0, true};
  Random random(2);
  const RandomVolume volume = test::random_volume(1, {18, 9, 9}, ElementType::f32, random);
  const EngineBench one = open_on(1, network, choice);
  const JobOutcome wanted = test::run_job(*one.engine, volume.view());
  EXPECT_EQ(wanted.statistics->patches, 20);
  for (const int sockets : {2, 3, 4}) {
    const EngineBench made = open_on(sockets, network, choice);
    const JobOutcome outcome = test::run_job(*made.engine, volume.view());
    EXPECT_EQ(test::output_values(outcome), test::output_values(wanted)) << sockets << " sockets";
    const auto rounds = static_cast<double>(div_up(4, sockets));
    const Rung& rung = made.plan.ladder[0];
    const Seconds column = 5 * rung.seconds - rung.segments[0].steps[2].seconds;  // the first step lacks the last node
    EXPECT_DOUBLE_EQ(made.engine->estimate(volume.shape)->predicted_seconds, rounds * column);
  }
}

// Remembers how many planes were wanted at a time.
class CountingSource final : public PlaneSource {
 public:
  explicit CountingSource(const VolumeView& volume) : whole_(volume), shape_(volume.shape) {}
  const VolumeShape& shape() const override { return shape_; }
  void want(const PlaneRange& planes) override { most = std::max(most, planes.last - planes.first); }
  bool here() const override { return true; }
  Result<void> wait(const std::stop_token& /*stop*/) override { return {}; }
  const std::byte* plane(std::int64_t channel, std::int64_t z) const override { return whole_.plane(channel, z); }

  std::int64_t most = 0;

 private:
  WholeVolume whole_;
  VolumeShape shape_;
};

TEST(JobRun, WantsNoMorePlanesThanItsEstimateSays) {
  for (int i = 0; i < test::case_count(12); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed));
    const Network network = test::random_network(random, 16);
    const std::optional<GeometryChoice> choice = drawn_choice(network, random);
    if (!choice) continue;
    const EngineBench made = open_on(static_cast<int>(random.integer(2, 4)), network, *choice);
    const RandomVolume volume = test::random_volume(network.f_in, {40, 21, 20}, ElementType::f32, random);
    const std::int64_t max_held = random.integer(1, 40000);
    const JobEstimate estimate = *made.engine->estimate(volume.shape, ElementType::f32, max_held);
    CountingSource source(volume.view());
    JobOutcome outcome;
    VolumeJob job =
        test::recorded_job(volume.view(), estimate.output, ElementType::f32, VolumeOrder::channel_major, outcome);
    job.input.source = &source;
    job.schedule.max_held = max_held;
    ASSERT_TRUE(made.engine->run(job, {}));
    EXPECT_LE(source.most, estimate.input_planes);
  }
}

// Counts how often it is asked where planes are.
class AskedSource final : public PlaneSource {
 public:
  explicit AskedSource(const VolumeView& volume) : whole_(volume) {}
  const VolumeShape& shape() const override { return whole_.shape(); }
  void want(const PlaneRange& /*planes*/) override {}
  bool here() const override { return true; }
  Result<void> wait(const std::stop_token& /*stop*/) override { return {}; }
  const std::byte* plane(std::int64_t channel, std::int64_t z) const override {
    ++asked;
    return whole_.plane(channel, z);
  }

  mutable std::atomic<std::int64_t> asked = 0;

 private:
  WholeVolume whole_;
};

// Returns a network whose patches are computed as they are: a convolution of 3.
Network one_convolution() {
  Network network;
  network.nodes = {{"conv", Convolution{2, Vec3::cube(3), Vec3::cube(1), {}}, {0}}};
  return network;
}

// Runs a job for a volume of one patch. Says how often the volume was asked for planes, and whether the slab was
// written before its patch was stitched.
struct PatchRun {
  std::vector<float> values;
  std::int64_t asked = 0;
  bool was_written = false;
};
PatchRun run_patch(const Backend& backend, const RandomVolume& volume, const Normalisation& normalisation,
                   ElementType type) {
  GeometryChoice choice;
  choice.pass_input = volume.shape.n;
  const EngineBench made = test::open_bench(one_convolution(), {choice}, backend);
  AskedSource source(volume.view());
  JobOutcome outcome;
  VolumeJob job = test::recorded_job(volume.view(), made.engine->estimate(volume.shape)->output, type,
                                     VolumeOrder::plane_major, outcome);
  job.input.source = &source;
  job.input.normalisation = normalisation;
  OutputSlab opened;
  job.sink.slab = [&, slab = job.sink.slab](std::int64_t first, std::int64_t planes) {
    Result<OutputSlab> made_slab = slab(first, planes);
    if (made_slab) opened = *made_slab;
    return made_slab;
  };
  PatchRun ran;
  made.engine->observe([&](const CallTime&) {
    const std::byte* const end = opened.data + volume_bytes(opened.shape);
    ran.was_written =
        std::any_of(static_cast<const std::byte*>(opened.data), end, [](std::byte b) { return b != std::byte{}; });
  });
  outcome.statistics = made.engine->run(job, {});
  EXPECT_TRUE(outcome.statistics);
  ran.asked = source.asked;
  ran.values = test::output_values(outcome);
  return ran;
}

TEST(JobRun, APatchIsReadAndWrittenInPlaceWhereItsLayersTakeVolumes) {
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
    Random random(seed);
    const RandomVolume volume = test::random_volume(1, {6, 7, 8}, ElementType::f32, random);
    const PatchRun copied = run_patch(test::oracle_backend(), volume, {}, ElementType::f32);
    const PatchRun in_place = run_patch(test::in_place_backend(), volume, {}, ElementType::f32);
    EXPECT_EQ(in_place.values, copied.values);
    EXPECT_GE(copied.asked, 6 * 7);  // once a row
    EXPECT_LE(in_place.asked, 2 * 6);
    EXPECT_FALSE(copied.was_written);
    EXPECT_TRUE(in_place.was_written);
  }
}

TEST(JobRun, VoxelsThatAreConvertedAreCopied) {
  Random random(1);
  const RandomVolume volume = test::random_volume(1, {6, 7, 8}, ElementType::f32, random);
  const Normalisation normalisation{0.5F, 0.25F};
  const PatchRun copied = run_patch(test::oracle_backend(), volume, normalisation, ElementType::f16);
  const PatchRun converted = run_patch(test::in_place_backend(), volume, normalisation, ElementType::f16);
  EXPECT_EQ(converted.values, copied.values);
  EXPECT_GE(converted.asked, 6 * 7);
  EXPECT_FALSE(converted.was_written);
}

// A client may have its output written over its input.
TEST(JobRun, OneMemoryMayBeInputAndOutput) {
  Random random(1);
  const RandomVolume volume = test::random_volume(1, {6, 7, 8}, ElementType::f32, random);
  const PatchRun wanted = run_patch(test::oracle_backend(), volume, {}, ElementType::f32);
  GeometryChoice choice;
  choice.pass_input = volume.shape.n;
  const EngineBench made = test::open_bench(one_convolution(), {choice}, test::in_place_backend());
  JobOutcome outcome;
  VolumeJob job = test::recorded_job(volume.view(), made.engine->estimate(volume.shape)->output, ElementType::f32,
                                     VolumeOrder::plane_major, outcome);
  std::vector<std::byte> shared = volume.bytes;
  shared.resize(static_cast<std::size_t>(std::max(volume_bytes(volume.shape), volume_bytes(outcome.shape))));
  AskedSource source({shared.data(), volume.shape});
  job.input.source = &source;
  job.sink.slab = [&](std::int64_t first, std::int64_t) -> Result<OutputSlab> {
    return OutputSlab{first, shared.data(), outcome.shape};
  };
  ASSERT_TRUE(made.engine->run(job, {}));
  EXPECT_EQ(test::output_values(outcome), wanted.values);
  EXPECT_GE(source.asked, 6 * 7);  // it is copied
}

TEST(JobRun, TakesTheMemoryOfAllSockets) {
  const EngineBench one = narrow_bench(1);
  EngineBench three = narrow_bench(3);
  EXPECT_EQ(three.engine->reserved_bytes(), 3 * one.engine->reserved_bytes());
  EXPECT_EQ(three.device->reserved(MemorySpace::host), three.engine->reserved_bytes());
  EXPECT_EQ(three.engine->estimate(narrow_volume().shape)->predicted_seconds,
            one.engine->estimate(narrow_volume().shape)->predicted_seconds / 3);
  EXPECT_EQ(3 * three.engine->memory().bytes, three.plan.memory.transient);
  ASSERT_TRUE(three.engine->touch_memory(three.engine->memory(), {}));
  ASSERT_TRUE(three.engine->warm_up(0, {}));
  three.engine.reset();
  EXPECT_EQ(three.device->reserved(MemorySpace::host), 0);
}

TEST(JobRun, AStopEndsAllSockets) {
  const EngineBench made = narrow_bench(2);
  const RandomVolume volume = narrow_volume();
  JobOutcome outcome;
  VolumeJob job = test::recorded_job(volume.view(), made.engine->estimate(volume.shape)->output, ElementType::f32,
                                     VolumeOrder::channel_major, outcome);
  std::stop_source stop;
  const auto progress = job.account.progress;
  job.account.progress = [&](const JobProgress& at) {
    progress(at);
    if (at.patches_done == 2 && at.under_way > 0) stop.request_stop();
  };
  outcome.statistics = made.engine->run(job, stop.get_token());
  ASSERT_FALSE(outcome.statistics);
  EXPECT_EQ(outcome.statistics.error().code, ErrorCode::cancelled);
  EXPECT_EQ(outcome.calls.back(), "slab 2+2");
  test::expect_exact(made, volume);  // and the engine goes on
}

TEST(JobRun, TheErrorOfOneSocketIsTheJobs) {
  const Network network = test::simple_network(1);
  const GeometryChoice choice = test::choice_of(network, PoolMode::fragments, 0);
  const EngineBench made = test::open_bench(network, {choice}, test::failing_backend(), 2);
  const JobOutcome outcome = test::run_job(*made.engine, narrow_volume().view());
  ASSERT_FALSE(outcome.statistics);
  EXPECT_EQ(outcome.statistics.error().code, ErrorCode::device_failure);
  EXPECT_THAT(outcome.statistics.error().message, AllOf(HasSubstr("node "), HasSubstr(": test.failing")));
}

TEST(JobRun, APlanOfOtherSocketsIsRefused) {
  const EngineBench made = narrow_bench(2);
  Plan plan = made.plan;
  plan.sockets = 3;
  const auto opened = Engine::open(made.network, made.weights, plan, made.catalogue, *made.device);
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("plan: planned for 3 sockets; there are 2"));
}

}  // namespace
}  // namespace znni
