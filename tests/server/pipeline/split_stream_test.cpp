// Streams over CPU and GPU: every node keeps its planes in the memory of its place, and the output is that of
// independent patches and of the sliding window.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "planner/geometry/patch_grid.hpp"
#include "planner/layers/ladder.hpp"
#include "planner/layers/pipeline_bytes.hpp"
#include "server/pipeline/split/pipeline.hpp"
#include "server/volume/plane_ring.hpp"
#include "tests/server/pipeline/dense_oracle.hpp"
#include "tests/server/pipeline/engine_bench.hpp"
#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/random_network.hpp"
#include "tests/server/pipeline/split_plan.hpp"
#include "tests/support/host_sim.hpp"

namespace znni {
namespace {

using test::HostSim;
using test::JobOutcome;
using test::Random;
using test::RandomVolume;
using testing::HasSubstr;

constexpr std::byte not_a_number{0xff};

// A net on a CPU and a GPU whose memory is poisoned, and a volume.
struct Bench {
  explicit Bench(Network net, const test::HostSimOptions& options = {}, std::int64_t host = std::int64_t{1} << 28)
      : network(std::move(net)),
        weights(random_weights(network, 7)),
        fov(reaches(network).back().fov),
        cpu(test::host_device(host, not_a_number)),
        gpu(std::make_unique<HostSim>(options)) {}

  Result<std::unique_ptr<Pipeline>> open(const Rung& rung) {
    return Pipeline::open(network, weights, rung, test::pair_catalogue(), *cpu, *gpu, gpu->poison());
  }
  Rung split(const GeometryChoice& choice, int theta, std::int64_t micro_batch) {
    return test::split_rung(network, choice, theta, micro_batch, cpu->spec(), gpu->spec()).value();
  }
  VolumeJob job(const RandomVolume& volume, JobOutcome& outcome) const {
    const Shape5 output{1, channels_of(network).back(), volume.shape.n - fov + Vec3::cube(1)};
    return test::recorded_job(volume.view(), output, ElementType::f32, VolumeOrder::channel_major, outcome);
  }
  std::vector<float> run(Pipeline& pipeline, const RandomVolume& volume, std::int64_t max_planes = saturated) const {
    JobOutcome outcome;
    const Result<PipelineStatistics> ran = pipeline.run(job(volume, outcome), {}, max_planes);
    EXPECT_TRUE(ran) << ran.error().message;
    return ran ? test::output_values(outcome) : std::vector<float>();
  }

  Network network;
  NetworkWeights weights;
  Vec3 fov;
  std::unique_ptr<Device> cpu;
  std::unique_ptr<HostSim> gpu;
};

test::HostSimOptions in_order_of(std::uint64_t seed) {
  test::HostSimOptions options;
  options.seed = seed;
  return options;
}

// Windows across the stream, of groups by recomputing and of poolings without a stride along z, are its phases. In half
// of the cases a convolution and the pooling behind it are computed at once, where the tail has them.
TEST(SplitStream, EveryThetaOfRandomNetsEqualsTheDenseWindow) {
  const int cases = std::max(test::case_count(30), 7);  // fewer may have no pair
  int cuts = 0;
  int pairs = 0;
  for (int i = 0; i < cases; ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    Bench bench(test::random_network(random, 16), in_order_of(seed));
    const std::optional<GeometryChoice> choice = test::split_stream(bench.network, random);
    if (!choice) continue;
    const RandomVolume volume = test::random_volume(
        bench.network.f_in, bench.fov + Vec3{random.integer(0, 30), random.integer(0, 8), 3}, ElementType::f32, random);
    const oracle::Values exact =
        test::dense_oracle(bench.network, bench.weights, volume.shape.n, test::volume_values(volume.view(), {}));
    for (const int theta : test::legal_cuts(bench.network)) {
      const std::int64_t micro_batch = random.chance(0.5) ? 1 : 0;
      SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed) + ", theta " + std::to_string(theta) +
                   ", micro-batches of " + std::to_string(micro_batch) + ", steps of " + to_string(choice->pass_input));
      Rung rung = bench.split(*choice, theta, micro_batch);
      if (random.chance(0.5)) pairs += test::join_pairs(bench.network, rung);
      const auto pipeline = bench.open(rung);
      ASSERT_TRUE(pipeline) << pipeline.error().message;
      const std::int64_t max_planes = random.chance(0.5) ? saturated : random.integer(1, 12);
      EXPECT_LE(test::relative_error(bench.run(**pipeline, volume, max_planes), exact), 1e-5);
      ++cuts;
    }
  }
  EXPECT_GT(cuts, cases / 2);
  EXPECT_GT(pairs, 0);
}

// Stem, host RAM and tail, any of them without the others.
TEST(SplitStream, ThreePlacesOfRandomNetsEqualTheDenseWindow) {
  int ran = 0;
  for (int i = 0; i < test::case_count(10); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    Bench bench(test::random_network(random, 16), in_order_of(seed));
    const std::optional<GeometryChoice> choice = test::split_stream(bench.network, random);
    if (!choice) continue;
    const RandomVolume volume =
        test::random_volume(bench.network.f_in, bench.fov + random.vec3(0, 10), ElementType::f32, random);
    const oracle::Values exact =
        test::dense_oracle(bench.network, bench.weights, volume.shape.n, test::volume_values(volume.view(), {}));
    for (const auto& [theta, until] : test::cuts_of_three(bench.network, random)) {
      SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed) + ", host RAM " + std::to_string(theta) + " to " +
                   std::to_string(until));
      const Rung rung =
          test::rung_of_three(bench.network, *choice, theta, until, bench.cpu->spec(), bench.gpu->spec(), random)
              .value();
      const auto pipeline = bench.open(rung);
      if (!pipeline && theta > 0) continue;  // layers of host RAM that the CPU computes, beside a head
      ASSERT_TRUE(pipeline) << pipeline.error().message;
      EXPECT_LE(test::relative_error(bench.run(**pipeline, volume), exact), 1e-5);
      ++ran;
    }
  }
  EXPECT_GT(ran, test::case_count(10) / 3);
}

// conv 3, pool 2, conv 3: field of view 8, stride 2.
class SplitStreamOf : public testing::Test {
 protected:
  SplitStreamOf() : bench_(test::simple_network(1)) {
    Random random(5);
    volume_ = test::random_volume(1, {30, 12, 13}, ElementType::f32, random);
  }
  [[nodiscard]] GeometryChoice stream(std::int64_t planes, std::int64_t step = 1, int axis = 0) const {
    GeometryChoice choice = test::choice_of(bench_.network, PoolMode::fragments, step);
    choice.pass_input.z = planes;
    choice.streamed = true;
    choice.axis = axis;
    return choice;
  }
  Bench bench_;
  RandomVolume volume_;
};

TEST_F(SplitStreamOf, EqualsIndependentPatchesAndItselfBitByBit) {
  const GeometryChoice patch = test::choice_of(bench_.network, PoolMode::fragments, 2);
  for (const int theta : {0, 1, 2}) {
    const auto patches = bench_.open(bench_.split(patch, theta, 0));
    ASSERT_TRUE(patches) << patches.error().message;
    const std::vector<float> wanted = bench_.run(**patches, volume_);
    for (const std::int64_t planes : {2, 6, 20}) {
      SCOPED_TRACE("theta " + std::to_string(theta) + ", " + std::to_string(planes) + " planes");
      const auto streamed = bench_.open(bench_.split(stream(planes), theta, planes == 2 ? 0 : 1));
      ASSERT_TRUE(streamed) << streamed.error().message;
      EXPECT_EQ(bench_.run(**streamed, volume_), wanted);
      EXPECT_EQ(bench_.run(**streamed, volume_, 9), wanted);
    }
  }
}

// A pair makes the planes that a pooling's windows begin in again, to the same bits.
TEST_F(SplitStreamOf, PairsEqualThoseOfIndependentPatches) {
  Rung patch = bench_.split(test::choice_of(bench_.network, PoolMode::fragments, 2), 0, 0);
  ASSERT_EQ(test::join_pairs(bench_.network, patch), 1);
  const auto patches = bench_.open(patch);
  ASSERT_TRUE(patches) << patches.error().message;
  const std::vector<float> wanted = bench_.run(**patches, volume_);
  for (const std::int64_t planes : {2, 6, 20}) {
    SCOPED_TRACE(std::to_string(planes) + " planes");
    Rung rung = bench_.split(stream(planes), 0, 0);
    ASSERT_EQ(test::join_pairs(bench_.network, rung), 1);
    const auto joined = bench_.open(rung);
    ASSERT_TRUE(joined) << joined.error().message;
    EXPECT_EQ(bench_.run(**joined, volume_), wanted);
    EXPECT_EQ(bench_.run(**joined, volume_, 9), wanted);
  }
}

// Four windows, wherever the pooling runs: each keeps as much as the other, one at a time.
TEST_F(SplitStreamOf, WindowsAreItsPhases) {
  const GeometryChoice patch = test::choice_of(bench_.network, PoolMode::fragments, 2);
  GeometryChoice phases = stream(8);
  phases.modes.front() = {{1, 2, 2}, false};
  phases.pass_input = {8, 10, 10};
  for (const int theta : {0, 1, 2}) {
    const auto patches = bench_.open(bench_.split(patch, theta, 0));
    const auto streamed = bench_.open(bench_.split(phases, theta, 1));
    ASSERT_TRUE(patches && streamed) << streamed.error().message;
    EXPECT_EQ((*streamed)->geometry().phases, 4);
    const std::vector<float> wanted = bench_.run(**patches, volume_);
    EXPECT_EQ(bench_.run(**streamed, volume_), wanted);
    EXPECT_EQ(bench_.run(**streamed, volume_, 9), wanted);
    const Rung rung = bench_.split(phases, theta, 1);
    const auto parts =
        take_apart(bench_.network, rung, test::split_catalogue(), {bench_.cpu->spec(), bench_.gpu->spec()});
    std::int64_t kept = 0;
    for (const SegmentDesign& segment : parts->segments) kept += history_bytes(segment.schedule);
    std::int64_t of_a_window = 0;
    for (int value = 0; value <= 3; ++value) of_a_window += history_bytes(parts->geometry, value, {});
    EXPECT_EQ(kept, of_a_window);
  }
}

// The devices have what is declared, space by space, and not a cache line more.
TEST_F(SplitStreamOf, TakesTheMemoryThatIsDeclared) {
  for (const auto& [theta, axis] : {std::pair{0, 0}, {1, 0}, {2, 0}, {1, 1}, {2, 2}}) {
    const Rung rung = bench_.split(stream(8, 1, axis), theta, 1);
    const PlaceSpecs specs{bench_.cpu->spec(), bench_.gpu->spec()};
    const SpaceBytes declared =
        pipeline_bytes(take_apart(bench_.network, rung, test::split_catalogue(), specs).value());
    test::HostSimOptions options;
    options.pinned_budget = declared.pinned;
    options.device_budget = declared.device;
    Bench tight(bench_.network, options, declared.host);
    const auto pipeline = tight.open(rung);
    ASSERT_TRUE(pipeline) << pipeline.error().message;
    EXPECT_FALSE(tight.run(**pipeline, volume_).empty());
    EXPECT_EQ(tight.gpu->reserved(MemorySpace::pinned), declared.pinned);
    EXPECT_LE(declared.device - tight.gpu->reserved(MemorySpace::device), 64 * 8);
    options.device_budget -= 64 * 8;
    Bench poor(bench_.network, options, declared.host);
    EXPECT_EQ(poor.open(rung).error().code, ErrorCode::over_budget);
  }
}

// The planes that the tail keeps never cross the link: only the new planes of a step go up.
TEST_F(SplitStreamOf, OnlyNewPlanesCrossTheLink) {
  const Rung rung = bench_.split(stream(8), 1, 0);
  const auto parts =
      take_apart(bench_.network, rung, test::split_catalogue(), {bench_.cpu->spec(), bench_.gpu->spec()});
  const SegmentDesign& tail = parts->segments.back();
  ASSERT_LT(tail.whole_input().n.z, tail.whole_tensor().n.z);
  const auto pipeline = bench_.open(rung);
  const test::LinkCount before = bench_.gpu->uploads();
  JobOutcome outcome;
  const Result<PipelineStatistics> ran = (*pipeline)->run(bench_.job(volume_, outcome), {});
  ASSERT_TRUE(ran);
  EXPECT_EQ(bench_.gpu->uploads().bytes - before.bytes, ran->job.patches * tensor_bytes(tail.whole_input(), {}));
}

// In mid-column a job is stopped, or its caller fails: the next one finds nothing of it.
TEST_F(SplitStreamOf, WhatABrokenJobLeftIsForgotten) {
  Random random(8);
  const RandomVolume other = test::random_volume(1, {44, 12, 13}, ElementType::f32, random);
  for (const int theta : {0, 1, 2}) {
    const auto pipeline = bench_.open(bench_.split(stream(8), theta, 1));
    const std::vector<float> wanted = bench_.run(**pipeline, volume_);
    for (const std::int64_t broken_at : {1, 3}) {
      JobOutcome cut;
      VolumeJob job = bench_.job(other, cut);
      std::stop_source stop;
      job.account.progress = [&](const JobProgress& at) {
        if (at.patches_done == broken_at) stop.request_stop();
      };
      EXPECT_EQ((*pipeline)->run(job, stop.get_token()).error().code, ErrorCode::cancelled);
      EXPECT_EQ(bench_.run(**pipeline, volume_), wanted);
      job.account.progress = {};
      job.sink.deliver = [](const OutputSlab&) -> Result<void> {
        return Error{ErrorCode::unavailable, "no client listens"};
      };
      EXPECT_EQ((*pipeline)->run(job, {}).error().code, ErrorCode::unavailable);
      EXPECT_EQ(bench_.run(**pipeline, volume_), wanted);
      ASSERT_TRUE((*pipeline)->warm_up({}));
    }
  }
}

// A volume in memory that counts how often planes of it were wanted: whenever the head begins a step.
class WatchedVolume final : public PlaneSource {
 public:
  explicit WatchedVolume(const VolumeView& volume) : whole_(volume) {}

  [[nodiscard]] const VolumeShape& shape() const override { return whole_.shape(); }
  void want(const PlaneRange& /*planes*/) override { ++asked; }
  [[nodiscard]] bool here() const override { return true; }
  [[nodiscard]] Result<void> wait(const std::stop_token& /*stop*/) override { return {}; }
  [[nodiscard]] const std::byte* plane(std::int64_t channel, std::int64_t z) const override {
    return whole_.plane(channel, z);
  }

  std::atomic<int> asked = 0;

 private:
  WholeVolume whole_;
};

// All rest between two steps, too; but what they keep would be lost to another job on this pipeline. How many steps
// more the head has begun when others want to run is up to the system: here always two, and all rest after every third
// step.
TEST_F(SplitStreamOf, OtherJobsRunBetweenColumns) {
  const auto pipeline = bench_.open(bench_.split(stream(8), 1, 1));
  for (const std::int64_t max_planes : {std::int64_t{12}, saturated}) {
    SCOPED_TRACE(std::to_string(max_planes) + " planes wait");
    const std::vector<float> wanted = bench_.run(**pipeline, volume_, max_planes);
    JobOutcome outcome;
    VolumeJob job = bench_.job(volume_, outcome);
    WatchedVolume source(volume_.view());
    job.input.source = &source;
    int ahead = 0;
    int steps = 0;  // since all rested
    job.account.progress = [&](const JobProgress& at) {
      ahead = static_cast<int>(std::min<std::int64_t>(at.patches - at.patches_done, 2));
    };
    job.schedule.wanted = [&](const Interval&) {
      const bool waits_for_head = ++steps == 1;
      while (waits_for_head && source.asked < 2 + ahead)
        std::this_thread::yield();  // once at first, then for each step
      return true;
    };
    int within = 0;
    int between = 0;
    job.schedule.between_patches = [&](const Interval& interval) -> Result<void> {
      source.asked = 1;  // for what comes next
      steps = 0;
      ++(interval.within_stream ? within : between);
      if (!interval.within_stream) {
        EXPECT_EQ(bench_.run(**pipeline, volume_, max_planes), wanted);
      }
      return {};
    };
    ASSERT_TRUE((*pipeline)->run(job, {}, max_planes));
    EXPECT_EQ(test::output_values(outcome), wanted);
    EXPECT_GT(within, max_planes == saturated ? between : 0);
    EXPECT_GT(between, 0);
  }
}

TEST_F(SplitStreamOf, AJobMayBeginAtAnyPlane) {
  const auto pipeline = bench_.open(bench_.split(stream(8), 1, 1));
  const std::vector<float> wanted = bench_.run(**pipeline, volume_);
  const Vec3 out = volume_.shape.n - bench_.fov + Vec3::cube(1);
  for (const std::int64_t first : {1, 7, 22}) {
    JobOutcome outcome;
    VolumeJob job = bench_.job(volume_, outcome);
    job.sink.first_plane = first;
    ASSERT_TRUE((*pipeline)->run(job, {}));
    const std::vector<float> found = test::output_values(outcome);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const bool computed = static_cast<std::int64_t>(i) / (out.y * out.x) % out.z >= first;
      ASSERT_TRUE(!computed || found[i] == wanted[i]) << first << " " << i;
    }
  }
}

// Planes of the input come one after the other, and no more have room than are said to be wanted.
TEST_F(SplitStreamOf, AVolumeThatIsNeverInMemoryAsAWhole) {
  for (const int axis : {0, 1, 2}) {
    const auto pipeline = bench_.open(bench_.split(stream(8, 1, axis), 1, 1));
    ASSERT_TRUE(pipeline) << pipeline.error().message;
    for (const std::int64_t max_planes : {std::int64_t{3}, std::int64_t{12}, saturated}) {
      SCOPED_TRACE("axis " + std::to_string(axis) + ", " + std::to_string(max_planes) + " planes wait");
      const std::vector<float> wanted = bench_.run(**pipeline, volume_, max_planes);
      const Vec3 n = volume_.shape.n;
      const std::int64_t planes = input_planes_ahead(n, (*pipeline)->geometry(), bench_.fov, max_planes);
      std::vector<std::byte> memory(static_cast<std::size_t>(planes * n.y * n.x * 4));
      PlaneRing ring(memory, volume_.shape);
      const std::jthread writer([&](const std::stop_token& stop) { EXPECT_TRUE(ring.write(volume_.bytes, stop)); });
      JobOutcome outcome;
      VolumeJob job = bench_.job(volume_, outcome);
      job.input.volume.data = nullptr;
      job.input.source = &ring;
      const Result<PipelineStatistics> ran = (*pipeline)->run(job, {}, max_planes);
      ASSERT_TRUE(ran) << ran.error().message;
      EXPECT_EQ(test::output_values(outcome), wanted);
    }
  }
}

// A long side of the volume is gone through by one column a row.
TEST_F(SplitStreamOf, AlongYAndXEqualsTheDenseWindow) {
  Random random(6);
  const RandomVolume volume = test::random_volume(1, {14, 40, 33}, ElementType::f32, random);
  const oracle::Values exact =
      test::dense_oracle(bench_.network, bench_.weights, volume.shape.n, test::volume_values(volume.view(), {}));
  for (const int axis : {1, 2}) {
    for (const int theta : {0, 1, 2}) {
      SCOPED_TRACE("axis " + std::to_string(axis) + ", theta " + std::to_string(theta));
      const auto pipeline = bench_.open(bench_.split(stream(8, 1, axis), theta, 1));
      ASSERT_TRUE(pipeline) << pipeline.error().message;
      EXPECT_LE(test::relative_error(bench_.run(**pipeline, volume), exact), 1e-5);
    }
  }
}

// Returns a plan whose first rung is streamed over both, and whose other one on the CPU, streamed or not, may take
// over.
Plan plan_of(const Bench& bench, bool cpu_streams) {
  GeometryChoice choice = test::choice_of(bench.network, PoolMode::fragments, 0);
  const Plan patches = test::mixed_plan(bench.network, choice, 1, bench.cpu->spec(), bench.gpu->spec());
  choice.pass_input.z = 4;
  choice.streamed = true;
  Plan plan = test::mixed_plan(bench.network, choice, 1, bench.cpu->spec(), bench.gpu->spec());
  if (cpu_streams) return plan;
  plan.memory.transient = plan.ladder[0].memory.transient + patches.ladder[1].memory.transient;
  plan.memory.persistent = patches.memory.persistent;
  plan.ladder[1] = patches.ladder[1];
  return plan;
}

// The engine takes the plan, and where the GPU fails in mid-column the CPU goes on with the planes that have room.
TEST(SplitStream, AnEngineStreamsAndTheCpuGoesOn) {
  const Bench bench(test::simple_network(1));
  Random random(4);
  const RandomVolume volume = test::random_volume(1, {70, 9, 9}, ElementType::f32, random);
  const oracle::Values exact =
      test::dense_oracle(bench.network, bench.weights, volume.shape.n, test::volume_values(volume.view(), {}));
  const Catalogue catalogue = test::split_catalogue();
  for (const bool cpu_streams : {true, false}) {
    const Plan plan = plan_of(bench, cpu_streams);
    ASSERT_TRUE(design_ladder(bench.network, plan, catalogue, bench.cpu->spec(), &bench.gpu->spec()));
    for (const std::int64_t failing_piece : {0, 1, 40, 90, 150}) {
      SCOPED_TRACE("piece " + std::to_string(failing_piece));
      HostSim gpu;
      const auto engine = Engine::open(bench.network, bench.weights, plan, catalogue, {*bench.cpu, &gpu});
      ASSERT_TRUE(engine) << engine.error().message;
      EXPECT_EQ((*engine)->reserved_bytes(), plan.memory.persistent + plan.memory.transient);
      EXPECT_EQ((*engine)->beside_streams(1), !cpu_streams);
      gpu.fail_work(failing_piece);
      const Result<JobEstimate> estimate = (*engine)->estimate(volume.shape);
      ASSERT_EQ(estimate->rung, 0U);
      ASSERT_EQ(estimate->input_planes, 4 + 4 + 4 + 7);
      std::vector<std::byte> memory(static_cast<std::size_t>(estimate->input_planes * 9 * 9 * 4));
      PlaneRing ring(memory, volume.shape);
      const std::jthread writer(
          [&](const std::stop_token& stop) { static_cast<void>(ring.write(volume.bytes, stop)); });
      JobOutcome outcome;
      VolumeJob job = bench.job(volume, outcome);
      job.input.volume.data = nullptr;
      job.input.source = &ring;
      outcome.statistics = (*engine)->run(job, {});
      ASSERT_TRUE(outcome.statistics) << outcome.statistics.error().message;
      EXPECT_EQ(outcome.statistics->fallback.empty(), failing_piece == 0);
      EXPECT_LE(test::relative_error(test::output_values(outcome), exact), 1e-5);
    }
  }
}

TEST_F(SplitStreamOf, RefusesInWords) {
  GeometryChoice choice = stream(8);
  choice.stem_slab = 1;
  const Rung rung = bench_.split(choice, 1, 1);
  EXPECT_THAT(bench_.open(rung).error().message, HasSubstr("a stem in slabs runs on one place only"));
}

}  // namespace
}  // namespace znni
