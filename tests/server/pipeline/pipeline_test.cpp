#include "server/pipeline/pipeline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <limits>
#include <mutex>
#include <thread>

#include "planner/layers/pipeline_bytes.hpp"
#include "server/volume/checked_source.hpp"
#include "tests/server/pipeline/dense_oracle.hpp"
#include "tests/server/pipeline/engine_bench.hpp"
#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/oracle_primitive.hpp"
#include "tests/server/pipeline/random_network.hpp"
#include "tests/server/pipeline/split_plan.hpp"
#include "tests/support/host_sim.hpp"
#include "tests/support/sim_primitives.hpp"

namespace znni {
namespace {

using test::HostSim;
using test::JobOutcome;
using test::Random;
using test::RandomVolume;
using testing::HasSubstr;

// A pipeline with all it borrows.
struct Bench {
  Bench(Network net, std::uint64_t seed = 0) : network(std::move(net)), weights(random_weights(network, 7)) {
    test::HostSimOptions options;
    options.seed = seed;
    gpu = std::make_unique<HostSim>(options);
  }

  Result<std::unique_ptr<Pipeline>> open(const GeometryChoice& choice, int theta, std::int64_t group) {
    const Result<Rung> rung = test::split_rung(network, choice, theta, group, cpu->spec(), gpu->spec());
    if (!rung) return rung.error();
    return Pipeline::open(network, weights, *rung, test::split_catalogue(), *cpu, *gpu, gpu->poison());
  }

  // Its slabs lie in `outcome`, which must stay where it is.
  [[nodiscard]] VolumeJob job(const RandomVolume& volume, JobOutcome& outcome) const {
    const Shape5 output{1, images(network).back(), volume.shape.n - reaches(network).back().fov + Vec3::cube(1)};
    return test::recorded_job(volume.view(), output, ElementType::f32, VolumeOrder::image_major, outcome);
  }

  Network network;
  NetworkWeights weights;
  std::unique_ptr<Device> cpu = test::host_device(std::int64_t{1} << 28);
  std::unique_ptr<HostSim> gpu;
};

struct Outcome {
  JobOutcome job;
  Result<PipelineStatistics> statistics = Error{};
};

// Into `outcome`, which must stay where it is.
void run(const Bench& bench, Pipeline& pipeline, const RandomVolume& volume, Outcome& outcome,
         std::stop_token stop = {}) {
  const VolumeJob job = bench.job(volume, outcome.job);
  outcome.statistics = pipeline.run(job, std::move(stop));
}

TEST(Pipeline, EveryThetaOfRandomNetsEqualsTheDenseWindow) {
  int cuts = 0;
  for (int i = 0; i < test::case_count(20); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    Bench bench(test::random_network(random, 16), seed);
    const GeometryChoice choice = test::split_choice(bench.network, random, random.integer(1, 2));
    const Vec3 n = reaches(bench.network).back().fov + random.vec3(0, 12);
    const RandomVolume volume = test::random_volume(bench.network.f_in, n, ElementType::f32, random);
    const oracle::Values exact =
        test::dense_oracle(bench.network, bench.weights, n, test::volume_values(volume.view(), {}));
    for (const int theta : test::legal_cuts(bench.network)) {
      const std::int64_t group = random.chance(0.5) ? 1 : 0;
      SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed) + ", theta " + std::to_string(theta) + ", groups of " +
                   std::to_string(group));
      const Result<std::unique_ptr<Pipeline>> pipeline = bench.open(choice, theta, group);
      ASSERT_TRUE(pipeline) << pipeline.error().message;
      Outcome outcome;
      run(bench, **pipeline, volume, outcome);
      ASSERT_TRUE(outcome.statistics) << outcome.statistics.error().message;
      EXPECT_LE(test::relative_error(test::output_values(outcome.job), exact), 1e-5);
      ++cuts;
    }
  }
  EXPECT_GT(cuts, test::case_count(20));
}

// Convolutions and the poolings behind them at once, wherever the tail has them.
TEST(Pipeline, PairsOfRandomNetsEqualTheDenseWindow) {
  int pairs = 0;
  for (int i = 0; i < test::case_count(20); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed));
    Random random(seed);
    Bench bench(test::random_network(random, 16), seed);
    const GeometryChoice choice = test::split_choice(bench.network, random, random.integer(1, 2));
    const Vec3 n = reaches(bench.network).back().fov + random.vec3(0, 12);
    const RandomVolume volume = test::random_volume(bench.network.f_in, n, ElementType::f32, random);
    Rung rung =
        test::split_rung(bench.network, choice, 0, random.integer(0, 1), bench.cpu->spec(), bench.gpu->spec()).value();
    pairs += test::join_pairs(bench.network, rung);
    const Result<std::unique_ptr<Pipeline>> pipeline = Pipeline::open(
        bench.network, bench.weights, rung, test::pair_catalogue(), *bench.cpu, *bench.gpu, bench.gpu->poison());
    ASSERT_TRUE(pipeline) << pipeline.error().message;
    Outcome outcome;
    run(bench, **pipeline, volume, outcome);
    ASSERT_TRUE(outcome.statistics) << outcome.statistics.error().message;
    const oracle::Values exact =
        test::dense_oracle(bench.network, bench.weights, n, test::volume_values(volume.view(), {}));
    EXPECT_LE(test::relative_error(test::output_values(outcome.job), exact), 1e-5);
  }
  EXPECT_GE(pairs, test::case_count(20) / 20);  // few cases may have none
}

// Head, host RAM and tail cut anywhere.
TEST(Pipeline, ThreePlacesOfRandomNetsEqualTheDenseWindow) {
  int ran = 0;
  for (int i = 0; i < test::case_count(20); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    Bench bench(test::random_network(random, 16), seed);
    const GeometryChoice choice = test::split_choice(bench.network, random, 1);
    const Vec3 n = reaches(bench.network).back().fov + random.vec3(0, 12);
    const RandomVolume volume = test::random_volume(bench.network.f_in, n, ElementType::f32, random);
    const oracle::Values exact =
        test::dense_oracle(bench.network, bench.weights, n, test::volume_values(volume.view(), {}));
    for (const auto& [theta, until] : test::cuts_of_three(bench.network, random)) {
      SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed) + ", host RAM " + std::to_string(theta) + " to " +
                   std::to_string(until));
      const Rung rung =
          test::rung_of_three(bench.network, choice, theta, until, bench.cpu->spec(), bench.gpu->spec(), random)
              .value();
      const Result<std::unique_ptr<Pipeline>> pipeline = Pipeline::open(
          bench.network, bench.weights, rung, test::split_catalogue(), *bench.cpu, *bench.gpu, bench.gpu->poison());
      if (!pipeline && theta > 0) {
        EXPECT_THAT(pipeline.error().message, HasSubstr("divided convolutions only"));
        continue;
      }
      ASSERT_TRUE(pipeline) << pipeline.error().message;
      Outcome outcome;
      run(bench, **pipeline, volume, outcome);
      ASSERT_TRUE(outcome.statistics) << outcome.statistics.error().message;
      EXPECT_LE(test::relative_error(test::output_values(outcome.job), exact), 1e-5);
      ++ran;
    }
  }
  EXPECT_GT(ran, test::case_count(20));
}

class PipelineOf : public testing::Test {
 protected:
  PipelineOf() : bench_(test::simple_network(1)), choice_(test::choice_of(bench_.network, PoolMode::fragments, 1)) {
    Random random(3);
    volume_ = test::random_volume(1, {15, 16, 24}, ElementType::f32, random);
  }

  // Cut behind the first node. `in_tail` is called with every buffer of a layer on the GPU, as often for each patch.
  Result<std::unique_ptr<Pipeline>> open_and_call(std::function<void()> in_tail) {
    const Rung rung = test::split_rung(bench_.network, choice_, 1, 1, bench_.cpu->spec(), bench_.gpu->spec()).value();
    const Arena::Poison poison = [this, in_tail = std::move(in_tail)](std::span<std::byte> block, MemorySpace space) {
      in_tail();
      bench_.gpu->poison()(block, space);
    };
    return Pipeline::open(bench_.network, bench_.weights, rung, test::split_catalogue(), *bench_.cpu, *bench_.gpu,
                          poison);
  }

  Bench bench_;
  GeometryChoice choice_;
  RandomVolume volume_;
};

TEST_F(PipelineOf, DeliversInOrderAndTellsItsProgress) {
  const auto pipeline = bench_.open(choice_, 1, 1);
  ASSERT_TRUE(pipeline) << pipeline.error().message;
  Outcome outcome;
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
TEST_F(PipelineOf, APatchIsStitchedWhileTheGpuComputesTheNext) {
  std::atomic<int> calls = 0;
  const auto pipeline = open_and_call([&] { ++calls; });
  ASSERT_TRUE(pipeline) << pipeline.error().message;
  calls = 0;
  Outcome alone;
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
  [[nodiscard]] const std::byte* plane(std::int64_t image, std::int64_t z) const override {
    return whole_.plane(image, z);
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
TEST_F(PipelineOf, OthersRunWhilePlanesAreAwaited) {
  const auto pipeline = bench_.open(choice_, 1, 1);
  ASSERT_TRUE(pipeline);
  Outcome at_once;
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
TEST_F(PipelineOf, AVoxelThatIsNoNumberIsFoundInTheLastPlane) {
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

TEST_F(PipelineOf, AFailureOfTheTailEndsBothSides) {
  const auto pipeline = bench_.open(choice_, 1, 1);
  ASSERT_TRUE(pipeline);
  bench_.gpu->fail_work(40);
  Outcome outcome;
  run(bench_, **pipeline, volume_, outcome);
  ASSERT_FALSE(outcome.statistics);
  EXPECT_EQ(outcome.statistics.error().code, ErrorCode::device_failure);
}

TEST_F(PipelineOf, AFailureOfTheHeadEndsBothSides) {
  Rung rung = test::split_rung(bench_.network, choice_, 1, 0, bench_.cpu->spec(), bench_.gpu->spec()).value();
  const Backend* const rows[] = {&test::failing_backend(), &test::oracle_backend(), &test::sim_backend()};
  const Catalogue catalogue = Catalogue::make(rows).value();
  rung.segments[0].steps[0].primitive = "test.failing";
  const auto pipeline = Pipeline::open(bench_.network, bench_.weights, rung, catalogue, *bench_.cpu, *bench_.gpu, {});
  ASSERT_TRUE(pipeline) << pipeline.error().message;
  for (int again = 0; again < 2; ++again) {
    Outcome outcome;
    run(bench_, **pipeline, volume_, outcome);
    ASSERT_FALSE(outcome.statistics);
    EXPECT_THAT(outcome.statistics.error().message, HasSubstr("it was made to fail"));
  }
}

TEST_F(PipelineOf, AFailureOfTheCallerEndsBothSidesAndTheNextJobRuns) {
  const auto pipeline = bench_.open(choice_, 1, 1);
  ASSERT_TRUE(pipeline);
  JobOutcome kept;
  VolumeJob job = bench_.job(volume_, kept);
  job.sink.deliver = [](const OutputSlab&) -> Result<void> { return Error{ErrorCode::unavailable, "nobody listens"}; };
  const Result<PipelineStatistics> ran = (*pipeline)->run(job, {});
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, ErrorCode::unavailable);
  Outcome outcome;
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
  [[nodiscard]] const std::byte* plane(std::int64_t image, std::int64_t z) const override {
    return whole_.plane(image, z);
  }

  std::atomic<bool> is_awaited = false;
  std::atomic<bool> is_stopped = false;

 private:
  WholeVolume whole_;
  int waits_ = 0;
};

// The GPU fails at the end of the second patch, which stops the head at the third, and only then the caller with the
// first: nothing may go on without the slab that he refused.
TEST_F(PipelineOf, AFailureOfTheCallerIsNotTheGpusThatFailsMeanwhile) {
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
    return Error{ErrorCode::unavailable, "nobody listens"};
  };
  const Result<PipelineStatistics> ran = (*pipeline)->run(job, {});
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, ErrorCode::unavailable) << ran.error().message;
  EXPECT_FALSE((*pipeline)->gpu_failure());
  in_tail = [] {};
  Outcome next;
  run(bench_, **pipeline, column, next);
  EXPECT_FALSE(next.statistics);
  EXPECT_TRUE((*pipeline)->gpu_failure()) << "the next job finds it";
}

TEST_F(PipelineOf, StopsOnBothSidesAndRunsAgain) {
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
  Outcome outcome;
  run(bench_, **pipeline, volume_, outcome);
  EXPECT_TRUE(outcome.statistics);
}

// A budget that is what the plan counts opens it; one byte less does not.
TEST_F(PipelineOf, FitsToTheByte) {
  const Rung rung = test::split_rung(bench_.network, choice_, 1, 1, bench_.cpu->spec(), bench_.gpu->spec()).value();
  const SpaceBytes bytes = pipeline_bytes(
      take_apart(bench_.network, rung, test::split_catalogue(), {bench_.cpu->spec(), bench_.gpu->spec()}).value());
  for (const auto& [pinned, device] : {std::pair{0, 0}, {1, 0}, {0, 1}}) {
    HostSim gpu({test::host_sim_spec(), 0, bytes.pinned - pinned, bytes.device - device, 0});
    const auto pipeline =
        Pipeline::open(bench_.network, bench_.weights, rung, test::split_catalogue(), *bench_.cpu, gpu);
    EXPECT_EQ(pipeline.has_value(), pinned + device == 0) << (pipeline ? "it opens" : pipeline.error().message);
  }
}

TEST_F(PipelineOf, ReportsWantOfMemoryAtEveryAllocationAndLeaksNothing) {
  ASSERT_TRUE(bench_.open(choice_, 1, 1));
  const std::int64_t allocations = bench_.gpu->allocations();
  for (std::int64_t number = 1; number <= allocations; ++number) {
    bench_.gpu->fail_allocation(number);
    const auto pipeline = bench_.open(choice_, 1, 1);
    ASSERT_FALSE(pipeline) << "allocation " << number;
    EXPECT_EQ(pipeline.error().code, ErrorCode::over_budget);
    EXPECT_EQ(bench_.gpu->reserved(MemorySpace::device) + bench_.gpu->reserved(MemorySpace::pinned), 0);
    EXPECT_EQ(bench_.cpu->reserved(MemorySpace::host), 0);
    EXPECT_EQ(bench_.gpu->live_events(), 0);
  }
}

TEST_F(PipelineOf, RefusesVolumesBelowTheFieldOfViewAndOtherPlaces) {
  const auto pipeline = bench_.open(choice_, 1, 1);
  ASSERT_TRUE(pipeline);
  VolumeJob job;
  job.input.volume.shape = {1, {1, 1, 1}, ElementType::f32, VolumeOrder::image_major};
  EXPECT_THAT((*pipeline)->run(job, {}).error().message, HasSubstr("field of view"));
  const int nodes = static_cast<int>(bench_.network.nodes.size());
  Rung rung = test::split_rung(bench_.network, choice_, nodes, 0, bench_.cpu->spec(), bench_.gpu->spec()).value();
  rung.segments.pop_back();
  const auto other =
      Pipeline::open(bench_.network, bench_.weights, rung, test::split_catalogue(), *bench_.cpu, *bench_.gpu, {});
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("segments on cpu; a pipeline runs at most one each"));
}

}  // namespace
}  // namespace znni
