#include "primitives/hybrid/reordered_conv.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "primitives/core/precision.hpp"
#include "tests/oracle/tolerance.hpp"
#include "tests/support/accelerator_run.hpp"
#include "tests/support/harness.hpp"
#include "tests/support/host_sim.hpp"
#include "tests/support/random.hpp"
#include "tests/support/sim_primitives.hpp"

namespace znni::hybrid {
namespace {

using test::AcceleratorRun;
using test::HostSim;
using testing::HasSubstr;
using Floats = std::vector<float>;

test::HostSimOptions options_of(std::uint64_t seed) {
  test::HostSimOptions options;
  options.seed = seed;
  options.spec.accelerator.tf32_flops_per_second = 4e12;
  options.spec.accelerator.bf16_flops_per_second = 1e13;
  return options;
}

struct Example {
  explicit Example(std::uint64_t seed) {
    test::Random random(seed);
    conv = test::random_conv(random, 1e6);
    weights = test::random_weights(conv, random);
    inputs = test::random_inputs(conv, random);
  }
  ConvProblem conv;
  test::Weights weights;
  std::vector<Floats> inputs;
};

// Runs the primitive in the inner estimate's own formats; inputs are rounded when they are stored.
Floats run_alone(const Example& example, const Primitive& primitive, const Estimate& inner, HostSim& gpu) {
  const auto run = AcceleratorRun::make(example.conv, inner, gpu, [&](Arena& persistent) {
    return primitive.prepare(example.conv, inner, example.weights.view(), persistent, gpu);
  });
  return (*run)->run(example.inputs).value();
}

// Runs the reordered convolution on planar tensors, twice.
Floats run_reordered(const Example& example, const Primitive& primitive, const Estimate& inner, HostSim& gpu) {
  const Estimate whole = describe_reordered(example.conv, inner, test::sim_reorder(), gpu.spec()).value();
  const auto prepare = [&](Arena& persistent) {
    return prepare_reordered(example.conv, primitive, inner, test::sim_reorder(), example.weights.view(), persistent,
                             gpu, gpu.poison());
  };
  const auto run = AcceleratorRun::make(example.conv, whole, gpu, prepare, gpu.poison());
  EXPECT_TRUE(run) << run.error().message;
  const Floats first = (*run)->run(example.inputs).value();
  EXPECT_EQ((*run)->run(example.inputs).value(), first);
  EXPECT_TRUE((*run)->held_what_was_declared());
  return first;
}

// The result equals, to the last bit, that of the primitive on tensors that already have its formats.
TEST(ReorderedConv, EqualsWhatItReordersFor) {
  for (int i = 0; i < test::case_count(25); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    const Example example(seed);
    const std::vector<oracle::Values> exact = [&] {
      std::vector<oracle::Values> all;
      for (const Floats& input : example.inputs) all.push_back(oracle::widened(input));
      return all;
    }();
    const oracle::Values expected = oracle::oracle_run(example.conv, exact, example.weights.view());
    HostSim gpu(options_of(seed));
    for (const Primitive* primitive : {&test::sim_conv(), &test::sim_conv_matrix()}) {
      const std::vector<Estimate> estimates = primitive->describe(example.conv, gpu.spec()).value();
      for (const Estimate& inner : estimates) {
        const std::string name = test::name_of(*primitive, example.conv, inner, seed);
        const Floats found = run_reordered(example, *primitive, inner, gpu);
        EXPECT_EQ(found, run_alone(example, *primitive, inner, gpu)) << name;
        const Precision precision = precision_of(inner.variant, inner.in, inner.out);
        const double most = oracle::tolerance(example.conv, exact, example.weights.view(), precision);
        test::expect_close(found, expected, most, name);
      }
    }
  }
}

TEST(ReorderedConv, TakesTheTimeOfAllThreeAndWhatThePrimitiveKeeps) {
  const ConvProblem conv{.in = {1, 3, {5, 6, 7}}, .f_out = 2, .k = {3, 3, 3}, .activation = {}};
  const DeviceSpec gpu = options_of(1).spec;
  Estimate inner = test::sim_conv_matrix().describe(conv, gpu).value().back();
  ASSERT_EQ(inner.in, last_bf16);
  inner.spread = {1, 2, 3};
  const Estimate whole = describe_reordered(conv, inner, test::sim_reorder(), gpu).value();
  const auto reorder_time = [&](const ReorderProblem& problem) {
    return test::sim_reorder().describe(problem, gpu).value().front().time;
  };
  EXPECT_DOUBLE_EQ(whole.time, inner.time + reorder_time({conv.in, planar_f32, last_bf16}) +
                                   reorder_time({output_shape(conv), last_bf16, planar_f32}));
  EXPECT_EQ(whole.variant, inner.variant);
  EXPECT_EQ(whole.spread, inner.spread);
  EXPECT_EQ(persistent_bytes(whole.memory, MemorySpace::device), persistent_bytes(inner.memory, MemorySpace::device));
  EXPECT_EQ(peak(whole.memory, MemorySpace::device), tensor_bytes(conv.in, {}) + tensor_bytes(conv.in, last_bf16) +
                                                         tensor_bytes(output_shape(conv), {}) +
                                                         tensor_bytes(output_shape(conv), last_bf16));
}

// A tensor that is already planar is not touched.
TEST(ReorderedConv, LeavesPlanarTensorsAlone) {
  const ConvProblem conv{.in = {1, 3, {5, 6, 7}}, .f_out = 2, .k = {3, 3, 3}, .activation = {}};
  const DeviceSpec gpu = options_of(1).spec;
  const Estimate inner = test::sim_conv().describe(conv, gpu).value().front();
  ASSERT_EQ(inner.in, planar_f32);
  EXPECT_EQ(describe_reordered(conv, inner, test::sim_reorder(), gpu).value().time, inner.time);
}

TEST(ReorderedConv, RepeatsWhyATensorIsNotReordered) {
  const ConvProblem conv{.in = {1, 3, {5, 6, 7}}, .f_out = 2, .k = {3, 3, 3}, .activation = {}};
  const DeviceSpec gpu = options_of(1).spec;
  Estimate inner = test::sim_conv().describe(conv, gpu).value().front();
  inner.in = {ElementType::f16, Layout::planar};
  EXPECT_THAT(describe_reordered(conv, inner, test::sim_reorder(), gpu).error().message, HasSubstr("reorders between"));
}

}  // namespace
}  // namespace znni::hybrid
