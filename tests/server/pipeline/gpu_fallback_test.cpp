// Streams over CPU and GPU whose output waits in bands, and the stream on the CPU that goes on where the GPU fails.
#include <gtest/gtest.h>

#include <algorithm>

#include "server/pipeline/engine.hpp"
#include "tests/server/pipeline/dense_oracle.hpp"
#include "tests/server/pipeline/engine_bench.hpp"
#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/random_network.hpp"
#include "tests/server/pipeline/split_plan.hpp"
#include "tests/support/host_sim.hpp"

namespace znni {
namespace {

class BandedStream : public testing::Test {
 protected:
  // Opens an engine with these rungs on the CPU behind it, of which the last takes so long.
  Result<std::unique_ptr<Engine>> open(const std::vector<GeometryChoice>& fallbacks, Seconds last, test::HostSim& gpu) {
    Plan plan = test::mixed_plan(network_, stream_, 1, cpu_->spec(), gpu.spec(), fallbacks);
    plan.ladder.back().seconds = last;
    return Engine::open(network_, weights_, plan, catalogue_, {*cpu_, &gpu});
  }
  std::int64_t held(const JobEstimate& estimate) const {
    VolumeShape in = volume_.shape;
    in.n.z = estimate.input_planes;
    const Vec3 slab{estimate.slab_planes, estimate.output.n.y, estimate.output.n.x};
    return volume_bytes(in) + estimate.slabs * volume_bytes({estimate.output.f, slab}) + estimate.list_bytes;
  }

  const Network network_ = test::simple_network(2);
  const NetworkWeights weights_ = random_weights(network_, 7);
  const Catalogue catalogue_ = test::split_catalogue();
  const std::unique_ptr<Device> cpu_ = test::host_device(std::int64_t{1} << 28);
  const GeometryChoice patches_ = test::choice_of(network_, PoolMode::fragments, 1);
  const GeometryChoice stream_{{4, 41, 33}, 1, patches_.modes, 0, true};  // two columns
  test::Random random_{6};
  const test::RandomVolume volume_ = test::random_volume(1, {60, 40, 44}, ElementType::u8, random_);
};

TEST_F(BandedStream, HoldsNoMoreThanItMayWithTheOneThatGoesOn) {
  test::HostSim gpu;
  const auto engine = open({stream_}, 1, gpu);
  ASSERT_TRUE(engine) << engine.error().message;
  std::int64_t fullest = 0;
  for (std::int64_t max_held = 120000; max_held < 370000; max_held += 3001) {
    SCOPED_TRACE(max_held);
    const JobEstimate estimate = *(*engine)->estimate(volume_.shape, ElementType::f32, max_held);
    EXPECT_EQ(estimate.rung, 0U);
    EXPECT_LE(held(estimate), max_held);
    fullest = std::max(fullest, 100 * held(estimate) / max_held);
    EXPECT_TRUE((*engine)->cut(volume_.shape, ElementType::f32, max_held));
  }
  EXPECT_GE(fullest, 90);
}

// Not as patches that hold less and take much longer: those of the whole volume are more than all steps.
TEST_F(BandedStream, GoesOnAsAStreamWhereverItFails) {
  const oracle::Values exact =
      test::dense_oracle(network_, weights_, volume_.shape.n, test::volume_values(volume_.view(), {}));
  for (const std::int64_t max_held : {210000, 240000, 270000}) {
    for (const std::int64_t piece : {std::int64_t{1}, random_.integer(20, 200)}) {
      SCOPED_TRACE(std::to_string(max_held) + " held, piece " + std::to_string(piece));
      test::HostSim gpu;
      const auto engine = open({stream_, patches_}, 100, gpu);
      ASSERT_TRUE(engine) << engine.error().message;
      const JobEstimate estimate = *(*engine)->estimate(volume_.shape, ElementType::f32, max_held);
      EXPECT_EQ(estimate.rung, 0U);
      EXPECT_LE(held(estimate), max_held);
      gpu.fail_work(piece);
      for (const char* which : {"the job that loses the GPU", "one that was told of both and comes later"}) {
        SCOPED_TRACE(which);
        test::JobOutcome outcome;
        test::run_flowing(**engine, volume_, estimate, outcome);
        ASSERT_TRUE(outcome.statistics) << outcome.statistics.error().message;
        EXPECT_FALSE(outcome.statistics->fallback.empty());
        EXPECT_LE(outcome.statistics->patches, estimate.patches);
        test::expect_slabs_as_said(outcome, estimate);
        EXPECT_LE(test::relative_error(test::output_values(outcome), exact), 1e-5);
      }
    }
  }
}

}  // namespace
}  // namespace znni
