// A NaN that arises within a net, from sums beyond the range of a float, must not become a number on the way. Every
// primitive of the registry gives NaN where the oracle does; docs/reliability.md names the exceptions.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "primitives/cpu/conv/onednn_convolution.hpp"
#include "tests/support/cpu.hpp"

namespace znni::test {
namespace {

using FloatVector = std::vector<float>;

// Primitives and what of their results may drop a NaN, with the number of results that did.
using Dropped = std::map<std::string, int>;

const PoolProblem* pool_of(const LayerProblem& problem) {
  if (const auto* both = std::get_if<ConvPoolProblem>(&problem)) return &both->pool;
  return std::get_if<PoolProblem>(&problem);
}

// Returns what may drop a NaN, as docs/reliability.md says; "" if nothing may.
std::string exception(const Primitive& primitive, const LayerProblem& problem) {
  const PoolProblem* const pool = pool_of(problem);
  if (pool != nullptr && pool->kind == PoolKind::max) return "max pooling";
  const auto* const conv = std::get_if<ConvProblem>(&problem);
  if (conv == nullptr || !primitive.name.starts_with("cpu.conv.onednn")) return "";
  const ActivationKind kind = conv->activation.kind;
  return kind != ActivationKind::none && cpu::OnednnConvolution::fuses(kind) ? "oneDNN" : "";
}

// Returns values of deviation 1, with a NaN in one to three of them.
FloatVector with_nans(const Shape5& shape, Random& random) {
  FloatVector values = random.normals(elements(shape));
  for (std::int64_t nans = random.integer(1, 3); nans > 0; --nans) {
    const std::int64_t at = random.integer(0, elements(shape) - 1);
    values[static_cast<std::size_t>(at)] = std::numeric_limits<float>::quiet_NaN();
  }
  return values;
}

std::int64_t nan_count(const oracle::Values& values) {
  return std::count_if(values.begin(), values.end(), [](double value) { return std::isnan(value); });
}

struct Drawn {
  std::vector<FloatVector> inputs;
  oracle::Values exact;  // what the oracle makes of them
};

// Draws inputs with NaNs until one reaches an output: layers leave voxels out. Gives up after `max_draws`.
Drawn drawn(const LayerProblem& problem, const Weights& weights, Random& random) {
  constexpr int max_draws = 100;
  Drawn drawn;
  for (int draws = 0; draws < max_draws && nan_count(drawn.exact) == 0; ++draws) {
    std::vector<oracle::Values> exact_inputs;
    drawn.inputs.clear();
    for (int index = 0; index < input_count(problem); ++index) {
      drawn.inputs.push_back(with_nans(input_shape(problem, index), random));
      exact_inputs.push_back(oracle::widened(drawn.inputs.back()));
    }
    drawn.exact = oracle::oracle_run(problem, exact_inputs, weights.view());
  }
  return drawn;
}

// Runs a layer in every way on inputs with NaNs. Expects NaN wherever the oracle has it, and that it has one.
void expect_kept(const LayerProblem& problem, Device& device, std::uint64_t seed, Dropped& dropped) {
  Random random(seed);
  const Weights weights = random_weights(problem, random);
  const auto [inputs, exact] = drawn(problem, weights, random);
  ASSERT_GT(nan_count(exact), 0) << "no NaN reaches an output of " << to_string(problem);
  for (const Primitive* primitive : cpu::registry()) {
    const Result<std::vector<Estimate>> estimates = primitive->describe(problem, device.spec());
    if (!estimates) continue;
    const std::string may_drop = exception(*primitive, problem);
    for (const Estimate& estimate : *estimates) {
      const Outcome outcome = run_once(*primitive, problem, estimate, weights.view(), inputs, device);
      ASSERT_EQ(outcome.values.size(), exact.size());
      int numbers = 0;
      for (std::size_t i = 0; i < exact.size(); ++i) numbers += std::isnan(exact[i]) && !std::isnan(outcome.values[i]);
      if (!may_drop.empty()) {
        dropped[may_drop] += numbers;
        continue;
      }
      EXPECT_EQ(numbers, 0) << name_of(*primitive, problem, estimate, seed);
    }
  }
}

TEST(ContractNan, IsKeptByEveryPrimitive) {
  const std::array<std::unique_ptr<Device>, 2> devices = {open_cpu(2), open_cpu(2, 4)};
  Dropped dropped;
  for (int i = 0; i < case_count(30); ++i) {
    const std::uint64_t seed = base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    Device& device = *devices[seed % devices.size()];
    expect_kept(random_problem(random), device, seed, dropped);
    if (i % 5 == 0) expect_kept(random_conv_pool_of_pairs(random, 8), device, seed, dropped);
    if (i % 5 == 1) expect_kept(random_norm(random), device, seed, dropped);
    if (i % 5 == 2) expect_kept(random_across(random), device, seed, dropped);
    if (i % 5 == 3) expect_kept(random_global_pool(random), device, seed, dropped);
    if (HasFatalFailure()) return;
  }
}

class ActivationOfNan : public testing::TestWithParam<int> {};

// Convolutions and activations alone, of each kind.
TEST_P(ActivationOfNan, IsNan) {
  const Activation activation{static_cast<ActivationKind>(GetParam()), 0.5F};
  const std::unique_ptr<Device> device = open_cpu(2);
  Dropped dropped;
  ConvProblem conv;
  conv.in = {1, 16, {6, 7, 8}};
  conv.f_out = 16;
  conv.k = Vec3::cube(3);
  conv.activation = activation;
  expect_kept(conv, *device, 1, dropped);
  conv.k = Vec3::cube(1);
  expect_kept(conv, *device, 2, dropped);
  conv.groups = 16;
  conv.k = {1, 3, 3};
  expect_kept(conv, *device, 3, dropped);
  expect_kept(ActivationProblem{conv.in, activation}, *device, 4, dropped);
  expect_kept(AddProblem{conv.in, 2, activation}, *device, 5, dropped);
}

INSTANTIATE_TEST_SUITE_P(Kinds, ActivationOfNan, testing::Range(0, static_cast<int>(last_activation_kind) + 1),
                         [](const testing::TestParamInfo<int>& kind) {
                           return std::string(to_string(static_cast<ActivationKind>(kind.param)));
                         });

// If this fails, our max pooling has begun to keep NaN, and the exception may go.
TEST(ContractNan, MaxPoolingDropsIt) {
  const std::unique_ptr<Device> device = open_cpu(2);
  Dropped dropped;
  for (const PoolMode mode : {PoolMode::plain, PoolMode::fragments}) {
    PoolProblem pool;
    pool.mode = mode;
    pool.in = {1, 8, mode == PoolMode::plain ? Vec3::cube(8) : Vec3::cube(9)};
    expect_kept(pool, *device, 1, dropped);
  }
  EXPECT_GT(dropped["max pooling"], 0);
}

}  // namespace
}  // namespace znni::test
