#include "server/train/step/training_step.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "planner/train/trainable.hpp"
#include "primitives/core/index.hpp"
#include "tests/planner/dense_net.hpp"
#include "tests/planner/train/cpu_parts.hpp"
#include "tests/server/train/exact_step.hpp"
#include "tests/support/cpu.hpp"

namespace znni {
namespace {

using test::Random;
using testing::HasSubstr;

constexpr std::int64_t gibibyte = std::int64_t{1} << 30;
constexpr Activation relu{ActivationKind::relu, 0.0F};

Network chain(std::int64_t f) {
  Network net;
  net.name = "chain";
  net.nodes = {{"conv1", Convolution{f, {2, 3, 3}, Vec3::cube(1), relu}, {0}},
               {"pool", Pooling{PoolKind::max, Vec3::cube(2), Vec3::cube(2)}, {1}},
               {"conv2", Convolution{f + 1, {3, 2, 2}, Vec3::cube(1), {ActivationKind::tanh, 0.0F}}, {2}},
               {"mean", Pooling{PoolKind::average, {1, 2, 2}, {1, 2, 2}}, {3}},
               {"conv3", Convolution{2, Vec3::cube(1), Vec3::cube(1), {}}, {4}}};
  return net;
}

// A step with its data.
struct Case {
  Network network;
  NetworkWeights weights;
  StepPlan plan;
  std::vector<float> input;
  std::vector<float> target;

  Case(Network net, Vec3 patch, const StepOptions& options, int threads, std::uint64_t seed)
      : Case(std::move(net), patch, options, test::cpu_parts(threads), seed) {}

  Case(Network net, Vec3 patch, const StepOptions& options, const StepParts& parts, std::uint64_t seed)
      : network(std::move(net)), weights(random_weights(network, seed)) {
    Result<StepPlan> made = plan_step(network, patch, options, parts);
    ensure(made.has_value(), made ? "" : made.error().message);
    plan = std::move(*made);
    Random random(seed);
    input = random.normals(elements(plan.tensors.front().shape));
    target = random.normals(elements(plan.output));
  }

  [[nodiscard]] LossOfOutput loss() const {
    return [this](std::span<const float> output, std::span<float> gradient) {
      return test::squared_error(output, target, gradient);
    };
  }
  [[nodiscard]] test::ExactStep exact() const {
    return test::exact_step(network, plan.geometry, weights, input, target);
  }
};

double largest(const oracle::Values& values) {
  double most = 0;
  for (const double value : values) most = std::max(most, std::abs(value));
  return most;
}

// `scale`: size of the numbers whose roundings reach these, which may be small because they cancel.
void expect_near(const std::vector<float>& found, const oracle::Values& exact, double scale, const std::string& name) {
  ASSERT_EQ(found.size(), exact.size()) << name;
  const double tolerance = 2e-4 * largest(exact) + 1e-5 * scale;
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(found[i]), exact[i], tolerance) << name << "[" << i << "]";
  }
}

void expect_exact(const Case& of, const test::ExactStep& exact, const NetworkWeights& gradients) {
  const double scale = largest(oracle::widened(of.target));  // about that of the loss's gradient
  for (std::size_t i = 0; i < of.network.nodes.size(); ++i) {
    const std::string& name = of.network.nodes[i].name;
    expect_near(gradients[i].kernels, exact.gradients[i].kernels, scale, name + " kernels");
    expect_near(gradients[i].scale, exact.gradients[i].scale, scale, name + " scale");
    const bool shifts = !gradients[i].shift.empty();
    expect_near(shifts ? gradients[i].shift : gradients[i].bias, exact.gradients[i].bias, scale, name + " bias");
  }
}

void run_and_compare(const Case& of, int threads) {
  const std::unique_ptr<Device> device = test::open_cpu(threads);
  Result<std::unique_ptr<TrainingStep>> step = TrainingStep::prepare(of.network, of.plan, of.weights, *device, true);
  ASSERT_TRUE(step) << step.error().message;
  const test::ExactStep exact = of.exact();
  NetworkWeights gradients;
  for (int i = 0; i < 2; ++i) {
    const Result<double> loss = (*step)->run(of.input, of.loss(), gradients);
    ASSERT_TRUE(loss) << loss.error().message;
    EXPECT_NEAR(*loss, exact.loss, 1e-4 * exact.loss);
    expect_exact(of, exact, gradients);
  }
  for (const TrainingStep::CallMemory& call : (*step)->call_memory()) EXPECT_EQ(call.high_water, call.declared_peak);
  EXPECT_EQ(device->reserved(MemorySpace::host), of.plan.bytes.step);
}

// Returns a limit that hardly suffices for a step.
std::int64_t scarce_bytes(const Network& network, Vec3 patch, bool sparse) {
  std::int64_t low = 1;
  std::int64_t high = gibibyte;
  while (high - low > high / 50) {
    const std::int64_t middle = (low + high) / 2;
    const bool fits = plan_step(network, patch, {middle, sparse}, test::cpu_parts(2)).has_value();
    (fits ? high : low) = middle;
  }
  return high;
}

TEST(TrainingStep, ChainOfAllPoolingsIsExact) {
  run_and_compare(Case(chain(3), {14, 15, 19}, {gibibyte}, 2, 1), 2);
  run_and_compare(Case(chain(17), {14, 15, 19}, {gibibyte}, 2, 2), 2);
}

TEST(TrainingStep, SparseStepKeepsTheFirstOffsets) {
  const Case of(chain(3), {9, 12, 16}, {gibibyte, true}, 1, 1);
  EXPECT_EQ(of.plan.output.S, 1);
  run_and_compare(of, 1);
}

// Also with hardly more memory than a step needs.
TEST(TrainingStep, RandomNetworksAreExact) {
  int trained = 0;
  for (int i = 0; i < test::case_count(30); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed));
    Random random(seed);
    const Network network = test::random_network(random);
    if (!check_trainable(network)) continue;
    const bool sparse = random.chance(0.3);
    StepOptions options{gibibyte, sparse};
    const Vec3 patch = test::random_patch(network, sparse, random, 2);
    if (random.chance(0.5)) options.mem = scarce_bytes(network, patch, sparse);
    const Case of(network, patch, options, 2, seed);
    // Rounding decides which slope counts, and which maximum.
    if (of.exact().margin < 3e-5) continue;
    ++trained;
    run_and_compare(of, 2);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(trained, test::case_count(30) / 6);
}

// Returns how many calls compute gradients of input and weights at once.
int calls_at_once(const StepPlan& plan) {
  return static_cast<int>(std::count_if(plan.calls.begin(), plan.calls.end(), [](const StepCall& call) {
    const auto* gradient = std::get_if<GradientProblem>(&call.problem);
    return gradient != nullptr && gradient->of == GradientOf::both;
  }));
}

TEST(TrainingStep, GradientsOfInputAndWeightsAtOnceAreExact) {
  for (const std::int64_t f : {3, 17}) {
    const Case of(chain(f), {14, 15, 19}, {gibibyte}, test::cpu_parts_at_once(2), 4);
    EXPECT_EQ(calls_at_once(of.plan), 2);  // the first convolution needs no gradient of its input
    run_and_compare(of, 2);
  }
}

TEST(TrainingStep, RandomNetworksAreExactWithGradientsAtOnce) {
  int at_once = 0;
  for (int i = 0; i < test::case_count(20); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i) + 1000;
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed));
    Random random(seed);
    const Network network = test::random_network(random);
    if (!check_trainable(network)) continue;
    const Vec3 patch = test::random_patch(network, false, random, 2);
    const Case of(network, patch, {gibibyte}, test::cpu_parts_at_once(3), seed);
    if (calls_at_once(of.plan) == 0 || of.exact().margin < 3e-5) continue;
    at_once += calls_at_once(of.plan);
    run_and_compare(of, 3);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(at_once, test::case_count(20) / 6);
}

TEST(TrainingStep, StepsThatComputeValuesAgainAreExact) {
  for (const std::int64_t f : {3, 17}) {
    const Vec3 patch{14, 15, 19};
    const Case of(chain(f), patch, {scarce_bytes(chain(f), patch, false)}, 2, 1);
    const auto again = [](const StepCall& call) { return call.is_recomputed; };
    EXPECT_TRUE(std::any_of(of.plan.calls.begin(), of.plan.calls.end(), again));
    run_and_compare(of, 2);
  }
}

TEST(TrainingStep, TheLossSeesTheDenseOutput) {
  const Case of(chain(3), {14, 15, 19}, {gibibyte}, 1, 1);
  const std::unique_ptr<Device> device = test::open_cpu(1);
  const oracle::Values dense = test::dense_output(of.network, of.weights, {14, 15, 19}, oracle::widened(of.input));
  const std::unique_ptr<TrainingStep> step = TrainingStep::prepare(of.network, of.plan, of.weights, *device).value();
  EXPECT_EQ(elements(step->output_shape()), static_cast<std::int64_t>(dense.size()));
  NetworkWeights gradients;
  const auto loss = [&](std::span<const float> output, std::span<float> gradient) {
    for (std::size_t i = 0; i < dense.size(); ++i) EXPECT_NEAR(static_cast<double>(output[i]), dense[i], 1e-4);
    std::fill(gradient.begin(), gradient.end(), 0.0F);
    return 7.0;
  };
  EXPECT_EQ(step->run(of.input, loss, gradients).value(), 7.0);
  for (const NodeWeights& own : gradients) {
    EXPECT_TRUE(std::all_of(own.kernels.begin(), own.kernels.end(), [](float value) { return value == 0.0F; }));
  }
}

// Cuts [f][n] at `begin` out of [f][from].
std::vector<float> cut(const std::vector<float>& all, std::int64_t f, Vec3 from, Vec3 begin, Vec3 step, Vec3 n) {
  std::vector<float> part;
  for (std::int64_t at = 0; at < f * voxels(n); ++at) {
    const Vec3 v{at / (n.y * n.x) % n.z, at / n.x % n.y, at % n.x};
    const Vec3 w = begin + step * v;
    part.push_back(all[static_cast<std::size_t>(((at / voxels(n) * from.z + w.z) * from.y + w.y) * from.x + w.x)]);
  }
  return part;
}

TEST(TrainingStep, ADenseStepIsTheSumOfSparseStepsFromAllOffsets) {
  Network net = chain(3);
  net.nodes.resize(3);
  const Case dense(net, {10, 11, 11}, {gibibyte}, 1, 1);
  const std::unique_ptr<Device> device = test::open_cpu(1);
  const auto by_factors = [](const std::vector<float>& factors) -> LossOfOutput {
    return [&factors](std::span<const float> output, std::span<float> gradient) {
      std::copy(factors.begin(), factors.end(), gradient.begin());
      double sum = 0;
      for (std::size_t i = 0; i < output.size(); ++i) sum += static_cast<double>(output[i] * factors[i]);
      return sum;
    };
  };
  NetworkWeights whole;
  const auto step = TrainingStep::prepare(net, dense.plan, dense.weights, *device).value();
  const double loss = step->run(dense.input, by_factors(dense.target), whole).value();
  const Vec3 n{9, 10, 10};
  const Case sparse(net, n, {gibibyte, true}, 1, 1);
  const auto part = TrainingStep::prepare(net, sparse.plan, dense.weights, *device).value();
  std::vector<double> sums(whole[0].kernels.size(), 0.0);
  double losses = 0;
  for (std::int64_t i = 0; i < 8; ++i) {
    const Vec3 offset{i / 4, i / 2 % 2, i % 2};
    const Vec3 out = sparse.plan.output.n;
    const std::vector<float> input = cut(dense.input, 1, {10, 11, 11}, offset, Vec3::cube(1), n);
    const std::vector<float> factors =
        cut(dense.target, dense.plan.output.f, dense.plan.output.n, offset, Vec3::cube(2), out);
    NetworkWeights gradients;
    losses += part->run(input, by_factors(factors), gradients).value();
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += static_cast<double>(gradients[0].kernels[k]);
  }
  EXPECT_NEAR(losses, loss, 1e-4 * std::abs(loss) + 1e-4);
  expect_near(whole[0].kernels, sums, 0.0, "conv1 kernels");
}

void expect_finite_differences(Case of, const std::vector<std::size_t>& nodes) {
  const test::ExactStep exact = of.exact();
  const std::unique_ptr<Device> device = test::open_cpu(1);
  NetworkWeights gradients;
  const auto step = TrainingStep::prepare(of.network, of.plan, of.weights, *device).value();
  ASSERT_TRUE(step->run(of.input, of.loss(), gradients));
  for (const std::size_t node : nodes) {
    for (std::size_t k = 0; k < of.weights[node].kernels.size(); k += 5) {
      float& weight = of.weights[node].kernels[k];
      const float before = weight;
      weight = before + 1e-4F;
      const double above = of.exact().loss;
      const double step_up = static_cast<double>(weight);
      weight = before - 1e-4F;
      const double slope = (above - of.exact().loss) / (step_up - static_cast<double>(weight));
      weight = before;
      const double own = exact.gradients[node].kernels[k];
      EXPECT_NEAR(own, slope, 1e-6 * std::max(1.0, std::abs(slope))) << of.network.nodes[node].name << " " << k;
      EXPECT_NEAR(static_cast<double>(gradients[node].kernels[k]), slope, 1e-3 * std::max(1.0, std::abs(slope)));
    }
  }
}

TEST(TrainingStep, FiniteDifferencesOfTheLossAreTheGradients) {
  expect_finite_differences(Case(chain(2), {9, 12, 12}, {gibibyte, true}, 1, 3), {0, 2, 4});
  const Case at_once(chain(2), {9, 12, 12}, {gibibyte, true}, test::cpu_parts_at_once(1), 3);
  EXPECT_GT(calls_at_once(at_once.plan), 0);
  expect_finite_differences(at_once, {0, 2, 4});
}

// A quotient by as many channels, or by one; divisors are above 0.
Network quotient(std::int64_t f, bool by_one) {
  Network net;
  net.name = "quotient";
  const Activation sigmoid{ActivationKind::sigmoid, 0.0F};
  net.nodes = {{"first", Convolution{f, Vec3::cube(2), Vec3::cube(1), {ActivationKind::tanh, 0.0F}}, {0}},
               {"dividend", Convolution{f, Vec3::cube(2), Vec3::cube(1), {}}, {1}},
               {"divisor", Convolution{by_one ? 1 : f, Vec3::cube(2), Vec3::cube(1), sigmoid}, {1}},
               {"quotient", Divide{}, {2, 3}},
               {"last", Convolution{2, Vec3::cube(2), Vec3::cube(1), {}}, {4}}};
  return net;
}

TEST(TrainingStep, QuotientsAreExact) {
  for (const std::int64_t f : {3, 17}) {
    for (const bool by_one : {false, true}) {
      run_and_compare(Case(quotient(f, by_one), {6, 7, 9}, {gibibyte}, 2, 1), 2);
    }
  }
  expect_finite_differences(Case(quotient(3, false), {4, 4, 5}, {gibibyte}, 1, 3), {0, 1, 2, 4});
  expect_finite_differences(Case(quotient(3, true), {4, 4, 5}, {gibibyte}, 1, 3), {0, 1, 2, 4});
}

// Weights after some steps of gradient descent, by a device with this number of threads.
NetworkWeights descended(const Case& of, int threads) {
  NetworkWeights weights = of.weights;
  const std::unique_ptr<Device> device = test::open_cpu(threads);
  const auto step = TrainingStep::prepare(of.network, of.plan, weights, *device).value();
  NetworkWeights gradients;
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(step->run(of.input, of.loss(), gradients));
    for (std::size_t node = 0; node < weights.size(); ++node) {
      for (std::size_t k = 0; k < weights[node].kernels.size(); ++k) {
        weights[node].kernels[k] -= 1e-5F * gradients[node].kernels[k];
      }
      for (std::size_t k = 0; k < weights[node].bias.size(); ++k) {
        weights[node].bias[k] -= 1e-5F * gradients[node].bias[k];
      }
    }
  }
  return weights;
}

void expect_bit_equal(const Case& of) {
  const NetworkWeights one = descended(of, 1);
  double moved = 0;
  for (const int threads : {2, 3}) {
    const NetworkWeights other = descended(of, threads);
    for (std::size_t node = 0; node < one.size(); ++node) {
      EXPECT_EQ(one[node].kernels, other[node].kernels) << threads << " threads, node " << node;
      EXPECT_EQ(one[node].bias, other[node].bias) << threads << " threads, node " << node;
      for (std::size_t k = 0; k < one[node].kernels.size(); ++k) {
        moved += static_cast<double>(std::abs(one[node].kernels[k] - of.weights[node].kernels[k]));
      }
    }
  }
  EXPECT_GT(moved, 0.01);
}

TEST(TrainingStep, TwentyStepsAreBitEqualForAnyNumberOfWorkers) {
  expect_bit_equal(Case(chain(17), {14, 19, 23}, {gibibyte}, 3, 1));
  const Case at_once(chain(17), {14, 19, 23}, {gibibyte}, test::cpu_parts_at_once(3), 1);
  EXPECT_GT(calls_at_once(at_once.plan), 0);
  expect_bit_equal(at_once);
}

TEST(TrainingStep, EachRunReadsTheWeightsAgain) {
  Case of(chain(17), {14, 15, 15}, {gibibyte}, 1, 1);
  const std::unique_ptr<Device> device = test::open_cpu(1);
  const auto step = TrainingStep::prepare(of.network, of.plan, of.weights, *device).value();
  NetworkWeights gradients;
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    const NetworkWeights others = random_weights(of.network, seed);
    for (std::size_t i = 0; i < others.size(); ++i) {
      std::copy(others[i].kernels.begin(), others[i].kernels.end(), of.weights[i].kernels.begin());
      std::copy(others[i].bias.begin(), others[i].bias.end(), of.weights[i].bias.begin());
    }
    const test::ExactStep exact = of.exact();
    EXPECT_NEAR(step->run(of.input, of.loss(), gradients).value(), exact.loss, 1e-4 * exact.loss);
    expect_exact(of, exact, gradients);
  }
}

TEST(TrainingStep, DescentLowersTheLoss) {
  const Case of(chain(5), {14, 15, 15}, {gibibyte}, 1, 1);
  const NetworkWeights weights = descended(of, 1);
  const double before = of.exact().loss;
  EXPECT_LT(test::exact_step(of.network, of.plan.geometry, weights, of.input, of.target).loss, before);
}

TEST(TrainingStep, WhatDoesNotFitThePlanIsNamed) {
  const Case of(chain(3), {14, 15, 15}, {gibibyte}, 1, 1);
  const std::unique_ptr<Device> device = test::open_cpu(1);
  Network other = of.network;
  other.nodes[0].name = "renamed";
  const auto error = [&](const Network& network, Device& on) {
    const auto step = TrainingStep::prepare(network, of.plan, of.weights, on);
    return step ? "" : step.error().message;
  };
  EXPECT_THAT(error(other, *device), HasSubstr("planned for another network"));
  EXPECT_THAT(error(of.network, *test::open_cpu(2)), HasSubstr("the step was planned for "));
  const std::unique_ptr<Device> small = test::open_cpu(1, 0, of.plan.bytes.step - 1);
  EXPECT_THAT(error(of.network, *small), HasSubstr("a step of training"));
  const auto step = TrainingStep::prepare(of.network, of.plan, of.weights, *device).value();
  NetworkWeights gradients;
  const Result<double> ran = step->run(std::span(of.input).subspan(1), of.loss(), gradients);
  ASSERT_FALSE(ran);
  EXPECT_THAT(ran.error().message, HasSubstr("it was given " + std::to_string(of.input.size() - 1)));
}

}  // namespace
}  // namespace znni
