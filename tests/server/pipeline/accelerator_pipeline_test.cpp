// Pipelines on every accelerator, simulated or real: head, host RAM and tail equal the dense window, streamed or not.
#include <gtest/gtest.h>

#include "planner/layers/pipeline_bytes.hpp"
#include "server/pipeline/split/pipeline.hpp"
#include "tests/server/pipeline/dense_oracle.hpp"
#include "tests/server/pipeline/engine_bench.hpp"
#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/oracle_primitive.hpp"
#include "tests/server/pipeline/random_network.hpp"
#include "tests/server/pipeline/split_plan.hpp"
#include "tests/support/accelerators.hpp"

namespace znni::test {
namespace {

class AcceleratorPipeline : public OnAccelerator {
 protected:
  void expect_all_cuts_exact(std::int64_t new_planes);
};

// Expects that all cuts are exact, in patches, or in steps of so many new planes.
void AcceleratorPipeline::expect_all_cuts_exact(std::int64_t new_planes) {
  const Network network = simple_network(2, {3, 2, 3}, 4);  // conv pool conv pool conv
  const NetworkWeights weights = random_weights(network, 5);
  const Catalogue catalogue = split_catalogue(opened_.primitives);
  const std::unique_ptr<Device> cpu = host_device(std::int64_t{1} << 28);
  Random random(base_seed());
  GeometryChoice choice = choice_of(network, PoolMode::fragments, 1);
  choice.streamed = new_planes > 0;
  if (choice.streamed) choice.pass_input.z = new_planes;
  const Vec3 n = reaches(network).back().fov + Vec3{9, 6, 11};
  const RandomVolume volume = random_volume(1, n, ElementType::f32, random);
  const oracle::Values exact = dense_oracle(network, weights, n, volume_values(volume.view(), {}));
  const Shape5 output{1, 2, n - reaches(network).back().fov + Vec3::cube(1)};
  for (int until = 0; until <= 5; ++until) {
    for (const int theta : {0, until}) {
      if (theta == 5) continue;
      SCOPED_TRACE("theta " + std::to_string(theta) + ", host RAM until " + std::to_string(until));
      const Rung rung =
          rung_of_three(network, choice, theta, until, cpu->spec(), gpu().spec(), random, catalogue).value();
      const auto pipeline = Pipeline::open(network, weights, rung, catalogue, *cpu, gpu(), opened_.poison);
      ASSERT_TRUE(pipeline) << pipeline.error().message;
      const SpaceBytes counted =
          pipeline_bytes(take_apart(network, rung, catalogue, {cpu->spec(), gpu().spec()}).value());
      EXPECT_EQ(gpu().reserved(MemorySpace::device), counted.device);
      EXPECT_EQ(gpu().reserved(MemorySpace::pinned), counted.pinned);
      JobOutcome outcome;
      const VolumeJob job = recorded_job(volume.view(), output, ElementType::f32, VolumeOrder::channel_major, outcome);
      const Result<PipelineStatistics> ran = (*pipeline)->run(job, {});
      ASSERT_TRUE(ran) << ran.error().message;
      EXPECT_LE(relative_error(output_values(outcome), exact), 1e-5);
    }
  }
}

TEST_P(AcceleratorPipeline, AllCutsOfANetEqualTheDenseWindow) { expect_all_cuts_exact(0); }

TEST_P(AcceleratorPipeline, AllCutsOfAStreamedNetEqualTheDenseWindow) { expect_all_cuts_exact(8); }

INSTANTIATE_TEST_SUITE_P(On, AcceleratorPipeline, testing::ValuesIn(accelerator_names()),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace znni::test
