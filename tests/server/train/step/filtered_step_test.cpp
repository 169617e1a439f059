// Steps of networks of max filters, as they are and as poolings with strides, held to the former in float64.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "planner/train/step_form.hpp"
#include "server/train/step/training_step.hpp"
#include "tests/planner/train/cpu_parts.hpp"
#include "tests/server/train/exact_step.hpp"
#include "tests/support/cpu.hpp"

namespace znni {
namespace {

using test::Random;

constexpr std::int64_t gibibyte = std::int64_t{1} << 30;
constexpr Vec3 patch{19, 16, 22};

// Returns a chain with a branch; windows and dilations differ from axis to axis.
Network filters(std::int64_t f) {
  const Vec3 apart{2, 1, 3};
  const Activation smooth{ActivationKind::tanh, 0.0F};
  Network net;
  net.name = "filters";
  net.nodes = {{"a", Convolution{f, Vec3::cube(3), Vec3::cube(1), smooth}, {0}},
               {"f", Pooling{PoolKind::max, {2, 2, 3}, Vec3::cube(1)}, {1}},
               {"b", Convolution{f, {2, 3, 2}, apart, smooth}, {2}},
               {"g", Pooling{PoolKind::max, Vec3::cube(2), Vec3::cube(1), false, apart}, {3}},
               {"c", Convolution{f, Vec3::cube(2), apart * Vec3::cube(2), {}}, {4}},
               {"d", Convolution{f, Vec3::cube(2), apart * Vec3::cube(2), smooth}, {4}},
               {"sum", Add{}, {5, 6}},
               {"e", Convolution{2, Vec3::cube(1), Vec3::cube(1), {}}, {7}}};
  return net;
}

StepPlan plan_of(const Network& network) { return plan_step(network, patch, {gibibyte}, test::cpu_parts(2)).value(); }

void expect_near(const std::vector<float>& found, const oracle::Values& exact, const std::string& name) {
  ASSERT_EQ(found.size(), exact.size()) << name;
  double most = 0;
  for (const double value : exact) most = std::max(most, std::abs(value));
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(found[i]), exact[i], 5e-4 * most) << name << "[" << i << "]";
  }
}

// Returns whether rounding decides nothing, so that the forms were compared.
bool compare_forms(const Network& network, std::uint64_t seed) {
  const NetworkWeights weights = random_weights(network, seed);
  const StepPlan plan = plan_of(network);
  Random random(seed);
  const std::vector<float> input = random.normals(elements(plan.input));
  const std::vector<float> target = random.normals(elements(plan.output));
  const test::ExactStep exact = test::exact_step(network, plan.geometry, weights, input, target);
  if (exact.margin < 3e-6) return false;
  const LossOfOutput loss = [&](std::span<const float> output, std::span<float> gradient) {
    return test::squared_error(output, target, gradient);
  };
  for (const Network& form : {network, step_form(network, patch, false)}) {
    const StepPlan own = plan_of(form);
    EXPECT_EQ(own.output, plan.output);
    const std::unique_ptr<Device> device = test::open_cpu(2);
    const auto step = TrainingStep::prepare(form, own, weights, *device, true).value();
    NetworkWeights gradients;
    EXPECT_NEAR(step->run(input, loss, gradients).value(), exact.loss, 1e-4 * exact.loss);
    for (std::size_t i = 0; i < network.nodes.size(); ++i) {
      expect_near(gradients[i].kernels, exact.gradients[i].kernels, network.nodes[i].name + " kernels");
      expect_near(gradients[i].bias, exact.gradients[i].bias, network.nodes[i].name + " bias");
    }
  }
  return true;
}

TEST(FilteredStep, BothFormsAreExact) {
  ASSERT_NE(step_form(filters(3), patch, false), filters(3));
  int compared = 0;
  for (int i = 0; i < test::case_count(8); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed));
    if (compare_forms(filters(i % 2 == 0 ? 3 : 17), seed)) ++compared;
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(compared, 0);
}

}  // namespace
}  // namespace znni
