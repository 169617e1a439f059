// Engines over CPU and GPU: plans whose ladder has a rung of both and rungs of the CPU, and what happens when the GPU
// fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/layers/ladder.hpp"
#include "server/pipeline/engine.hpp"
#include "tests/server/pipeline/dense_oracle.hpp"
#include "tests/server/pipeline/engine_bench.hpp"
#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/random_network.hpp"
#include "tests/server/pipeline/split_plan.hpp"
#include "tests/support/host_sim.hpp"

namespace znni {
namespace {

using test::JobOutcome;
using test::Random;
using test::RandomVolume;
using testing::HasSubstr;

class GpuEngine : public testing::Test {
 protected:
  GpuEngine() {
    Random random(3);
    volume_ = test::random_volume(1, {15, 16, 24}, ElementType::f32, random);
    output_ = {1, 2, volume_.shape.n - reaches(network_).back().fov + Vec3::cube(1)};
    exact_ = test::dense_oracle(network_, weights_, volume_.shape.n, test::volume_values(volume_.view(), {}));
  }

  Result<std::unique_ptr<Engine>> open(const Plan& plan) {
    return Engine::open(network_, weights_, plan, catalogue_, {*cpu_, gpu_.get()});
  }
  VolumeJob job(JobOutcome& outcome) {
    return test::recorded_job(volume_.view(), output_, ElementType::f32, VolumeOrder::channel_major, outcome);
  }
  void run(Engine& engine, JobOutcome& outcome) { outcome.statistics = engine.run(job(outcome), {}); }
  void expect_exact(const JobOutcome& outcome) {
    ASSERT_TRUE(outcome.statistics) << outcome.statistics.error().message;
    EXPECT_LE(test::relative_error(test::output_values(outcome), exact_), 1e-5);
  }

  const Network network_ = test::simple_network(1);
  const NetworkWeights weights_ = random_weights(network_, 7);
  const Catalogue catalogue_ = test::split_catalogue();
  const std::unique_ptr<Device> cpu_ = test::host_device(std::int64_t{1} << 28);
  const std::unique_ptr<test::HostSim> gpu_ = std::make_unique<test::HostSim>();
  const GeometryChoice choice_ = test::choice_of(network_, PoolMode::fragments, 1);
  const Plan plan_ = test::mixed_plan(network_, choice_, 1, cpu_->spec(), gpu_->spec());
  const Plan gpu_alone_ = test::mixed_plan(network_, choice_, 1, cpu_->spec(), gpu_->spec(), false);
  RandomVolume volume_;
  Shape5 output_;
  oracle::Values exact_;
};

TEST_F(GpuEngine, RunsOnBothAndReservesWhatThePlanSays) {
  ASSERT_TRUE(design_ladder(network_, plan_, catalogue_, cpu_->spec(), &gpu_->spec()));
  const auto engine = open(plan_);
  ASSERT_TRUE(engine) << engine.error().message;
  EXPECT_EQ((*engine)->reserved_bytes(), plan_.memory.persistent + plan_.memory.transient);
  EXPECT_GT(gpu_->reserved(MemorySpace::device), 0);
  EXPECT_EQ((*engine)->estimate(volume_.shape)->rung, 0U);
  ASSERT_TRUE((*engine)->warm_up(0, {}));
  const std::int64_t before = gpu_->pieces_of_work();
  JobOutcome outcome;
  run(**engine, outcome);
  expect_exact(outcome);
  EXPECT_GT(gpu_->pieces_of_work(), before);
  EXPECT_GT(outcome.statistics->patches, 4);
  EXPECT_GT(outcome.statistics->cpu_idle + outcome.statistics->gpu_idle, 0);
  EXPECT_EQ(outcome.statistics->fallback, "");
  EXPECT_FALSE((*engine)->gpu_lost());
}

TEST_F(GpuEngine, WherePlansNameAGpuAndThereIsNoneTheyAreRefusedInOneLine) {
  const auto checked = design_ladder(network_, plan_, catalogue_, cpu_->spec(), nullptr);
  const auto opened = Engine::open(network_, weights_, plan_, catalogue_, *cpu_);
  ASSERT_FALSE(checked || opened);
  EXPECT_EQ(checked.error().message, opened.error().message);
  EXPECT_EQ(opened.error().code, ErrorCode::unsupported);
  EXPECT_EQ(opened.error().message,
            "plan: rung 0: segment of nodes 1 to 2 is placed on 'gpu', and there is no GPU here");
  EXPECT_EQ(cpu_->reserved(MemorySpace::host), 0);
}

TEST_F(GpuEngine, WhereTheGpuDidNotOpenTheCpuServesAndSaysWhy) {
  const auto engine = Engine::open(network_, weights_, plan_, catalogue_, {*cpu_, nullptr, "it is on fire"});
  ASSERT_TRUE(engine) << engine.error().message;
  EXPECT_EQ((*engine)->gpu_lost(), "it is on fire");
  JobOutcome outcome;
  run(**engine, outcome);
  expect_exact(outcome);
  EXPECT_EQ(outcome.statistics->fallback, "it is on fire");
  const auto alone = Engine::open(network_, weights_, gpu_alone_, catalogue_, {*cpu_, nullptr, "it is on fire"});
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error().code, ErrorCode::device_failure);
  EXPECT_EQ(alone.error().message, "it is on fire");
}

// Wherever it fails, the whole output is right, and nothing is delivered twice.
TEST_F(GpuEngine, AGpuThatFailsInTheMidstOfAJobIsReplacedByTheCpu) {
  std::int64_t pieces = 0;
  {
    const auto whole = open(plan_);
    JobOutcome outcome;
    const std::int64_t before = gpu_->pieces_of_work();
    run(**whole, outcome);
    pieces = gpu_->pieces_of_work() - before;
  }
  int abandoned = 0;
  for (std::int64_t number = 1; number <= pieces; number += 1 + pieces / 20) {
    SCOPED_TRACE("piece " + std::to_string(number) + " of " + std::to_string(pieces));
    test::HostSim failing;
    const auto engine = Engine::open(network_, weights_, plan_, catalogue_, {*cpu_, &failing});
    ASSERT_TRUE(engine);
    failing.fail_work(number);
    JobOutcome outcome;
    run(**engine, outcome);
    expect_exact(outcome);
    EXPECT_THAT(outcome.statistics->fallback, HasSubstr("work failed, as the test asked"));
    EXPECT_EQ((*engine)->gpu_lost(), outcome.statistics->fallback);
    std::int64_t next = 0;
    int open = 0;  // slabs that were asked for and went nowhere yet
    for (const std::string& call : outcome.calls) {
      open += call.starts_with("slab ") ? 1 : 0;
      open -= call.starts_with("abandon") || call.starts_with("deliver ") ? 1 : 0;
      abandoned += call.starts_with("abandon") ? 1 : 0;
      if (!call.starts_with("deliver ")) continue;
      EXPECT_EQ(call.substr(8, call.find('+') - 8), std::to_string(next));
      next += std::stoll(call.substr(call.find('+') + 1));
    }
    EXPECT_EQ(next, output_.n.z);
    EXPECT_EQ(open, 0);
    JobOutcome again;
    run(**engine, again);
    expect_exact(again);
    EXPECT_EQ(again.statistics->fallback, outcome.statistics->fallback);
    EXPECT_EQ(again.statistics->gpu_idle, 0);
  }
  EXPECT_GE(abandoned, 1);
}

// Behind a job it is asked whether it works, not before its time, and jobs run on it again when it does.
TEST_F(GpuEngine, AGpuThatWorksAgainIsUsedAgain) {
  const auto engine = open(plan_);
  (*engine)->retry_gpu_after(0);
  gpu_->fail_work(20);
  JobOutcome failed;
  run(**engine, failed);
  expect_exact(failed);
  EXPECT_TRUE((*engine)->gpu_lost()) << "not asked by the job that lost it";
  JobOutcome still;
  run(**engine, still);
  EXPECT_EQ(still.statistics->fallback, failed.statistics->fallback);
  EXPECT_EQ((*engine)->gpu_lost(), failed.statistics->fallback) << "asked, and it failed again";
  gpu_->recover();
  JobOutcome last;
  run(**engine, last);
  expect_exact(last);
  EXPECT_EQ(last.statistics->fallback, failed.statistics->fallback) << "it ran on the CPU";
  EXPECT_FALSE((*engine)->gpu_lost());
  JobOutcome back;
  run(**engine, back);
  expect_exact(back);
  EXPECT_EQ(back.statistics->fallback, "");
  EXPECT_GT(back.statistics->gpu_idle + back.statistics->cpu_idle, 0);
}

// Wherever it happens, in a copy or in a kernel that cannot tell: the job ends on the CPU, and the GPU, which this
// process cannot use again, is given nothing more.
TEST_F(GpuEngine, AGpuThatIsLostToTheProcessIsNeverAskedAgain) {
  for (std::int64_t number = 1; number <= 30; ++number) {
    SCOPED_TRACE(number);
    test::HostSim lost;
    const auto engine = Engine::open(network_, weights_, plan_, catalogue_, {*cpu_, &lost});
    (*engine)->retry_gpu_after(0);
    EXPECT_FALSE((*engine)->gpu_lost_for_good());
    lost.fail_work(number, ErrorCode::device_lost);
    JobOutcome outcome;
    run(**engine, outcome);
    expect_exact(outcome);
    EXPECT_TRUE((*engine)->gpu_lost_for_good());
    EXPECT_THAT(outcome.statistics->fallback, HasSubstr("work failed, as the test asked"));
    lost.recover();
    const std::int64_t before = lost.pieces_of_work();
    run(**engine, outcome = {});
    expect_exact(outcome);
    EXPECT_EQ(lost.pieces_of_work(), before);
    EXPECT_TRUE((*engine)->gpu_lost());
  }
}

TEST_F(GpuEngine, ARetryThatFindsTheGpuLostIsTheLast) {
  const auto engine = open(plan_);
  (*engine)->retry_gpu_after(0);
  gpu_->fail_work(20);
  JobOutcome outcome;
  run(**engine, outcome);
  EXPECT_FALSE((*engine)->gpu_lost_for_good());
  gpu_->recover();
  gpu_->fail_work(1, ErrorCode::device_lost);
  run(**engine, outcome = {});
  EXPECT_TRUE((*engine)->gpu_lost_for_good());
  gpu_->recover();
  run(**engine, outcome = {});
  EXPECT_TRUE((*engine)->gpu_lost());
}

TEST_F(GpuEngine, WithoutARungOfTheCpuTheErrorSaysThatTheGpuIsLost) {
  const auto engine = open(gpu_alone_);
  gpu_->fail_work(30, ErrorCode::device_lost);
  for (int again = 0; again < 2; ++again) {
    JobOutcome outcome;
    run(**engine, outcome);
    ASSERT_FALSE(outcome.statistics);
    EXPECT_EQ(outcome.statistics.error().code, ErrorCode::device_lost);
  }
}

TEST_F(GpuEngine, ALostGpuIsNotAskedBeforeItsTimeNorWhereItNeverOpened) {
  const auto engine = open(plan_);
  gpu_->fail_work(20);
  JobOutcome outcome;
  run(**engine, outcome);
  gpu_->recover();
  const std::int64_t before = gpu_->pieces_of_work();
  run(**engine, outcome = {});
  EXPECT_TRUE((*engine)->gpu_lost());
  EXPECT_EQ(gpu_->pieces_of_work(), before);
  gpu_->fail_allocation(1);
  const auto poor = open(plan_);
  (*poor)->retry_gpu_after(0);
  run(**poor, outcome = {});
  EXPECT_TRUE((*poor)->gpu_lost());
}

TEST_F(GpuEngine, WithoutARungOfTheCpuAJobEndsWithTheGpusError) {
  const auto engine = open(gpu_alone_);
  ASSERT_TRUE(engine);
  gpu_->fail_work(30);
  for (int again = 0; again < 2; ++again) {
    JobOutcome outcome;
    run(**engine, outcome);
    ASSERT_FALSE(outcome.statistics);
    EXPECT_EQ(outcome.statistics.error().code, ErrorCode::device_failure);
    EXPECT_FALSE((*engine)->gpu_lost());
  }
}

TEST_F(GpuEngine, AGpuWithoutMemoryIsLostAtTheStart) {
  ASSERT_TRUE(open(plan_));
  const std::int64_t allocations = gpu_->allocations();
  for (std::int64_t number = 1; number <= allocations; number += 1 + allocations / 10) {
    gpu_->fail_allocation(number);
    const auto engine = open(plan_);
    ASSERT_TRUE(engine) << engine.error().message;
    EXPECT_THAT((*engine)->gpu_lost().value_or(""), HasSubstr("rung 0: "));
    EXPECT_EQ(gpu_->reserved(MemorySpace::device) + gpu_->reserved(MemorySpace::pinned), 0);
    EXPECT_EQ((*engine)->patch(), (*engine)->plan().ladder[1].geometry.pass_input);
  }
  gpu_->fail_allocation(1);
  EXPECT_EQ(open(gpu_alone_).error().code, ErrorCode::over_budget);
}

TEST_F(GpuEngine, AFailureOfTheCallerIsNotTheGpus) {
  const auto engine = open(plan_);
  JobOutcome outcome;
  VolumeJob poor = job(outcome);
  poor.sink.slab = [](std::int64_t, std::int64_t) -> Result<OutputSlab> {
    return Error{ErrorCode::over_budget, "no memory for slabs"};
  };
  const Result<JobStatistics> ran = (*engine)->run(poor, {});
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().message, "no memory for slabs");
  EXPECT_FALSE((*engine)->gpu_lost());
}

// Both sides are at rest when others have their turn: another job on the same engine comes to no harm.
TEST_F(GpuEngine, BetweenPatchesOtherJobsRun) {
  const auto engine = open(plan_);
  JobOutcome outcome;
  VolumeJob first = job(outcome);
  int asked = 0;
  int others = 0;
  bool wants = false;  // until they have had their turn, as others do: the head may be behind by a batch
  first.schedule.wanted = [&](const Interval& interval) {
    wants = wants || (!interval.within_stream && ++asked % 3 == 0);
    return wants;
  };
  first.schedule.between_patches = [&](const Interval&) -> Result<void> {
    wants = false;
    JobOutcome other;
    run(**engine, other);
    expect_exact(other);
    ++others;
    return {};
  };
  outcome.statistics = (*engine)->run(first, {});
  expect_exact(outcome);
  EXPECT_GE(others, 1);
  EXPECT_LE(3 * others, asked);
  first.schedule.between_patches = [](const Interval&) -> Result<void> {
    return Error{ErrorCode::cancelled, "enough"};
  };
  const Result<JobStatistics> ended = (*engine)->run(first, {});
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().message, "enough");
}

TEST_F(GpuEngine, GoesOnWhereAnInterruptedJobEnded) {
  const auto engine = open(plan_);
  JobOutcome whole;
  run(**engine, whole);
  JobOutcome rest;
  VolumeJob second = job(rest);
  second.sink.first_plane = 3;
  rest.statistics = (*engine)->run(second, {});
  ASSERT_TRUE(rest.statistics) << rest.statistics.error().message;
  const std::size_t plane = static_cast<std::size_t>(output_.n.y * output_.n.x);
  const std::vector<float> all = test::output_values(whole);
  const std::vector<float> found = test::output_values(rest);
  EXPECT_TRUE(std::equal(found.begin() + 3 * static_cast<std::ptrdiff_t>(plane),
                         found.begin() + output_.n.z * static_cast<std::ptrdiff_t>(plane),
                         all.begin() + 3 * static_cast<std::ptrdiff_t>(plane)));
  EXPECT_NE(found.front(), all.front());
  second.sink.first_plane = output_.n.z;
  EXPECT_EQ((*engine)->run(second, {}).error().code, ErrorCode::invalid_argument);
}

// Planes of the input come one after the other, and few have room: also those are there that the CPU goes on with.
TEST_F(GpuEngine, AVolumeThatIsNeverInMemoryAsAWhole) {
  Random random(4);
  const RandomVolume tall = test::random_volume(1, {60, 12, 13}, ElementType::f32, random);
  const oracle::Values exact =
      test::dense_oracle(network_, weights_, tall.shape.n, test::volume_values(tall.view(), {}));
  for (const std::int64_t failing_piece : {0, 1, 30, 70}) {
    SCOPED_TRACE("piece " + std::to_string(failing_piece));
    test::HostSim gpu;
    const auto engine = Engine::open(network_, weights_, plan_, catalogue_, {*cpu_, &gpu});
    gpu.fail_work(failing_piece);
    const JobEstimate estimate = *(*engine)->estimate(tall.shape);
    ASSERT_LT(estimate.input_planes, tall.shape.n.z);
    JobOutcome outcome;
    test::run_flowing(**engine, tall, estimate, outcome);
    ASSERT_TRUE(outcome.statistics) << outcome.statistics.error().message;
    EXPECT_EQ(outcome.statistics->fallback.empty(), failing_piece == 0);
    EXPECT_LE(test::relative_error(test::output_values(outcome), exact), 1e-5);
  }
}

// Rungs of the CPU with thicker patches, batches over several rows and streams in columns go on in what was leased by
// the estimate of the rung with the GPU.
TEST_F(GpuEngine, WhatGoesOnFindsThePlanesAndSlabsThatItsEstimateSaid) {
  bool is_thicker = false;
  bool went_on = false;
  for (int i = 0; i < test::case_count(40); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed));
    Random random(seed);
    std::vector<GeometryChoice> fallbacks = {test::choice_of(network_, PoolMode::fragments, random.integer(0, 6), 3)};
    if (const auto stream = test::random_stream(network_, random)) fallbacks.push_back(*stream);
    const Plan plan = test::mixed_plan(network_, choice_, 1, cpu_->spec(), gpu_->spec(), fallbacks);
    const RandomVolume tall = test::random_volume(1, Vec3{30, 8, 8} + random.vec3(0, 12), ElementType::f32, random);
    test::HostSim gpu;
    const auto engine = Engine::open(network_, weights_, plan, catalogue_, {*cpu_, &gpu});
    ASSERT_TRUE(engine) << engine.error().message;
    const std::int64_t bytes = volume_bytes(tall.shape);
    const JobEstimate estimate =
        *(*engine)->estimate(tall.shape, ElementType::f32, random.integer(bytes / 8, 4 * bytes));
    gpu.fail_work(random.integer(1, 100));
    JobOutcome outcome;
    test::run_flowing(**engine, tall, estimate, outcome);
    ASSERT_TRUE(outcome.statistics) << outcome.statistics.error().message;
    test::expect_slabs_as_said(outcome, estimate);
    went_on = went_on || !outcome.statistics->fallback.empty();
    is_thicker = is_thicker || (estimate.rung == 0 && estimate.slab_planes > estimate.patch.z - 7);
    const oracle::Values exact =
        test::dense_oracle(network_, weights_, tall.shape.n, test::volume_values(tall.view(), {}));
    EXPECT_LE(test::relative_error(test::output_values(outcome), exact), 1e-5);
  }
  EXPECT_TRUE(is_thicker) << "no fallback rung wanted more than the first";
  EXPECT_TRUE(went_on);
}

TEST_F(GpuEngine, AStopEndsTheJobAndTheNextRuns) {
  const auto engine = open(plan_);
  std::stop_source stop;
  JobOutcome outcome;
  VolumeJob stopped = job(outcome);
  stopped.account.progress = [&](const JobProgress& progress) {
    if (progress.patches_done == 2) stop.request_stop();
  };
  EXPECT_EQ((*engine)->run(stopped, stop.get_token()).error().code, ErrorCode::cancelled);
  EXPECT_FALSE((*engine)->gpu_lost());
  JobOutcome next;
  run(**engine, next);
  expect_exact(next);
}

}  // namespace
}  // namespace znni
