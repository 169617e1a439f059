#include "server/pipeline/split/pipeline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/layers/pipeline_bytes.hpp"
#include "tests/server/pipeline/dense_oracle.hpp"
#include "tests/server/pipeline/pipeline_bench.hpp"

namespace znni {
namespace {

using test::HostSim;
using test::PipelineBench;
using test::PipelineOf;
using test::PipelineOutcome;
using test::Random;
using test::RandomVolume;
using testing::HasSubstr;

TEST(Pipeline, EveryThetaOfRandomNetsEqualsTheDenseWindow) {
  int cuts = 0;
  for (int i = 0; i < test::case_count(20); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    PipelineBench bench(test::random_network(random, 16), seed);
    const GeometryChoice choice = test::split_choice(bench.network, random, random.integer(1, 2));
    const Vec3 n = reaches(bench.network).back().fov + random.vec3(0, 12);
    const RandomVolume volume = test::random_volume(bench.network.f_in, n, ElementType::f32, random);
    const oracle::Values exact =
        test::dense_oracle(bench.network, bench.weights, n, test::volume_values(volume.view(), {}));
    for (const int theta : test::legal_cuts(bench.network)) {
      const std::int64_t micro_batch = random.chance(0.5) ? 1 : 0;
      SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed) + ", theta " + std::to_string(theta) +
                   ", micro-batches of " + std::to_string(micro_batch));
      const Result<std::unique_ptr<Pipeline>> pipeline = bench.open(choice, theta, micro_batch);
      ASSERT_TRUE(pipeline) << pipeline.error().message;
      PipelineOutcome outcome;
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
    PipelineBench bench(test::random_network(random, 16), seed);
    const GeometryChoice choice = test::split_choice(bench.network, random, random.integer(1, 2));
    const Vec3 n = reaches(bench.network).back().fov + random.vec3(0, 12);
    const RandomVolume volume = test::random_volume(bench.network.f_in, n, ElementType::f32, random);
    Rung rung =
        test::split_rung(bench.network, choice, 0, random.integer(0, 1), bench.cpu->spec(), bench.gpu->spec()).value();
    pairs += test::join_pairs(bench.network, rung);
    const Result<std::unique_ptr<Pipeline>> pipeline = Pipeline::open(
        bench.network, bench.weights, rung, test::pair_catalogue(), *bench.cpu, *bench.gpu, bench.gpu->poison());
    ASSERT_TRUE(pipeline) << pipeline.error().message;
    PipelineOutcome outcome;
    run(bench, **pipeline, volume, outcome);
    ASSERT_TRUE(outcome.statistics) << outcome.statistics.error().message;
    const oracle::Values exact =
        test::dense_oracle(bench.network, bench.weights, n, test::volume_values(volume.view(), {}));
    EXPECT_LE(test::relative_error(test::output_values(outcome.job), exact), 1e-5);
  }
  EXPECT_GE(pairs, test::case_count(20) / 20);  // few cases may have none
}

// Stem, host RAM and tail cut anywhere.
TEST(Pipeline, ThreePlacesOfRandomNetsEqualTheDenseWindow) {
  int ran = 0;
  for (int i = 0; i < test::case_count(20); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    PipelineBench bench(test::random_network(random, 16), seed);
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
      PipelineOutcome outcome;
      run(bench, **pipeline, volume, outcome);
      ASSERT_TRUE(outcome.statistics) << outcome.statistics.error().message;
      EXPECT_LE(test::relative_error(test::output_values(outcome.job), exact), 1e-5);
      ++ran;
    }
  }
  EXPECT_GT(ran, test::case_count(20));
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
  job.input.volume.shape = {1, {1, 1, 1}, ElementType::f32, VolumeOrder::channel_major};
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
