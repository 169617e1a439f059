// Every gradient of the registry against the oracle, as the other suites have it for layers: results, declared memory,
// formats, refusals, and the same bits for any number of workers.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <map>
#include <set>

#include "primitives/cpu/grad/gradients.hpp"
#include "tests/support/gradient_check.hpp"

namespace znni::test {
namespace {

// Calls body(primitive, problem, seed) for every gradient of random layers that a primitive takes.
template <class Body>
void for_each_gradient(int count, const DeviceSpec& spec, const Body& body) {
  for (int i = 0; i < case_count(count); ++i) {
    const std::uint64_t seed = base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    const LayerProblem layer = random_trained_layer(random);
    for (const GradientProblem& problem : gradients_of(layer)) {
      for (const GradientPrimitive* primitive : cpu::gradient_registry()) {
        if (primitive->describe(problem, spec)) body(*primitive, problem, seed);
      }
    }
  }
}

TEST(ContractGradients, RandomProblems) {
  const std::array<std::unique_ptr<Device>, 4> devices = {open_cpu(1), open_cpu(2), open_cpu(3), open_cpu(2, 4)};
  std::map<std::string_view, int> takers;
  for_each_gradient(120, devices[0]->spec(),
                    [&](const GradientPrimitive& primitive, const GradientProblem& problem, std::uint64_t seed) {
                      check_gradient(primitive, problem, *devices[seed % devices.size()], seed);
                      ++takers[primitive.name];
                    });
  if (case_count(120) < 120) return;
  for (const GradientPrimitive* primitive : cpu::gradient_registry()) {
    EXPECT_GT(takers[primitive->name], 0) << primitive->name << " took part in no problem";
  }
}

// A plan's gradients do not depend on the machine's load or its number of processors.
TEST(ContractGradients, AnyNumberOfWorkersGivesTheSameBits) {
  const std::array<std::unique_ptr<Device>, 3> devices = {open_cpu(1), open_cpu(2), open_cpu(3)};
  std::map<std::string_view, int> compared;
  for_each_gradient(
      60, devices[0]->spec(),
      [&](const GradientPrimitive& primitive, const GradientProblem& problem, std::uint64_t seed) {
        const GradientData data = gradient_data(problem, seed);
        const Result<std::vector<Estimate>> ones = primitive.describe(problem, devices[0]->spec());
        for (const Estimate& one : *ones) {
          std::vector<GradientOutcome> found;
          for (const std::unique_ptr<Device>& device : devices) {
            const Result<std::vector<Estimate>> others = primitive.describe(problem, device->spec());
            for (const Estimate& estimate : *others) {
              if (estimate.variant != one.variant || estimate.in != one.in || estimate.out != one.out) continue;
              found.push_back(run_gradient(primitive, problem, estimate, data, *device, Placing::packed, seed));
            }
          }
          if (found.size() == devices.size()) ++compared[primitive.name];
          for (const GradientOutcome& other : found) {
            const bool equal =
                other.gradient.size() == found[0].gradient.size() && other.bias == found[0].bias &&
                other.kernels == found[0].kernels &&
                std::memcmp(other.gradient.data(), found[0].gradient.data(), 4 * other.gradient.size()) == 0;
            EXPECT_TRUE(equal) << primitive.name << ", " << to_string(problem) << ": seed " << seed;
          }
        }
      });
  if (case_count(60) < 60) return;
  for (const GradientPrimitive* primitive : cpu::gradient_registry()) {
    EXPECT_GT(compared[primitive->name], 0) << primitive->name;
  }
}

// Both at once are none: each can be computed by itself.
TEST(ContractGradients, EveryGradientIsComputedInSomePlanarWay) {
  const DeviceSpec spec = cpu::describe_cpu(2);
  for (int i = 0; i < case_count(120); ++i) {
    Random random(base_seed() + static_cast<std::uint64_t>(i));
    for (const GradientProblem& problem : gradients_of(random_trained_layer(random))) {
      if (problem.of == GradientOf::both) continue;
      int planar = 0;
      for (const GradientPrimitive* primitive : cpu::gradient_registry()) {
        const Result<std::vector<Estimate>> estimates = primitive->describe(problem, spec);
        if (!estimates) continue;
        for (const Estimate& estimate : *estimates) planar += estimate.in == Format{} && estimate.out == Format{};
      }
      EXPECT_GE(planar, 1) << to_string(problem);
    }
  }
}

// No machine has these sizes: numbers saturate, nothing wraps, nothing is allocated.
TEST(ContractGradients, SurviveHugeProblems) {
  const DeviceSpec spec = cpu::describe_cpu(2);
  Random random(base_seed());
  for (int i = 0; i < case_count(100); ++i) {
    const auto extent = [&] { return std::int64_t{1} << random.integer(0, 19); };
    ConvProblem conv;
    conv.in = {extent(), extent(), {extent(), extent(), extent()}};
    conv.f_out = extent();
    conv.k = random.vec3(1, 9);
    conv.in.n = max(conv.in.n, conv.k);
    for (const LayerProblem& layer : {LayerProblem(conv), LayerProblem(PoolProblem{.in = conv.in})}) {
      if (!check(layer)) continue;
      for (const GradientProblem& problem : gradients_of(layer)) {
        for (const GradientPrimitive* primitive : cpu::gradient_registry()) {
          const Result<std::vector<Estimate>> estimates = primitive->describe(problem, spec);
          if (!estimates) continue;
          for (const Estimate& estimate : *estimates) {
            EXPECT_GE(peak(estimate.memory), tensor_bytes(gradient_shape(problem), estimate.out)) << primitive->name;
            EXPECT_GE(persistent_bytes(estimate.memory), 0) << primitive->name;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace znni::test
