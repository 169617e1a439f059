#include "server/train/step/step_runner.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/planner/train/cpu_parts.hpp"
#include "tests/support/random.hpp"

namespace znni {
namespace {

using testing::HasSubstr;

Network small_network() {
  Network network;
  network.name = "small";
  Convolution conv;
  conv.f_out = 2;
  conv.k = Vec3::cube(3);
  network.nodes = {{"conv1", conv, {0}}, {"conv2", conv, {1}}};
  return network;
}

// Draws voxels that follow from the step; targets are `target`.
class DrawnSamples final : public SampleSource {
 public:
  explicit DrawnSamples(float target) : target_(target) {}

  Result<Sample> sample(std::uint64_t step) override {
    test::Random random(step);
    return Sample{random.normals(512), std::vector<float>(128, target_), std::vector<float>(64, 1), "LABELS: voxels B"};
  }

 private:
  float target_;
};

class StepRunnerTest : public testing::Test {
 protected:
  Network network_ = small_network();
  NetworkWeights weights_ = random_weights(network_, 3);
  StepPlan plan_ = plan_step(network_, Vec3::cube(8), {std::int64_t{1} << 30, false}, test::cpu_parts(2)).value();
  Loss loss_ = Loss::make({LossKind::binary_cross_entropy, {}}, Probability::sigmoid, 2).value();
  StepRunner runner_{{network_, plan_, weights_, loss_, cpu::backend()}};
};

TEST_F(StepRunnerTest, StepsBehindAReleaseHaveTheSameBits) {
  DrawnSamples samples(1);
  NetworkWeights first;
  const Result<double> loss = runner_.run(samples, 7, first);
  ASSERT_TRUE(loss) << loss.error().message;
  EXPECT_GT(*loss, 0);
  runner_.release();
  runner_.release();
  NetworkWeights second;
  EXPECT_EQ(*runner_.run(samples, 7, second), *loss);
  for (std::size_t node = 0; node < first.size(); ++node) {
    EXPECT_EQ(second[node].kernels, first[node].kernels);
    EXPECT_EQ(second[node].bias, first[node].bias);
  }
  EXPECT_NE(*runner_.run(samples, 8, second), *loss) << "another sample";
}

TEST_F(StepRunnerTest, ReadsTheWeightsOfTheMoment) {
  DrawnSamples samples(1);
  NetworkWeights gradients;
  ASSERT_TRUE(runner_.prepare());
  const double before = *runner_.run(samples, 0, gradients);
  weights_[1].bias.assign(2, 9);
  EXPECT_LT(*runner_.run(samples, 0, gradients), before);
}

TEST_F(StepRunnerTest, AWrongTargetIsNamedWithItsPlace) {
  DrawnSamples samples(2);
  NetworkWeights gradients;
  const Result<double> loss = runner_.run(samples, 0, gradients);
  ASSERT_FALSE(loss);
  EXPECT_THAT(loss.error().message, HasSubstr("LABELS: voxels B: a target is 2; 0 to 1 is right"));
}

}  // namespace
}  // namespace znni
