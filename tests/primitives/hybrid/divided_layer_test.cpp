#include "primitives/hybrid/divided_layer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "primitives/core/precision.hpp"
#include "tests/support/accelerator_run.hpp"
#include "tests/support/host_sim.hpp"
#include "tests/support/random.hpp"
#include "tests/support/sim_primitives.hpp"

namespace znni::hybrid {
namespace {

using test::AcceleratorRun;
using test::HostSim;
using test::HostSimOptions;
using test::Random;
using Floats = std::vector<float>;

std::string text_of(const DividedChoice& choice) {
  const Division& sublayer = choice.division;
  return "S " + std::to_string(sublayer.S) + " f " + std::to_string(sublayer.f) + " f_out " +
         std::to_string(sublayer.f_out) + " slab " + std::to_string(sublayer.slab) + " " + to_string(choice.in) +
         (choice.staged ? " staged" : "") + (choice.reorder != nullptr ? " reordered" : "");
}

bool bit_equal(const Floats& a, const Floats& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

struct Example {
  explicit Example(std::uint64_t seed) : Example(seed, draw(seed)) {}
  Example(std::uint64_t seed, const ConvProblem& problem) : conv(problem) {
    Random random(seed + 77);
    weights = test::random_weights(conv, random);
    inputs = test::random_inputs(conv, random);
  }
  static ConvProblem draw(std::uint64_t seed) {
    Random random(seed);
    return test::random_conv(random, 1e6);
  }
  ConvProblem conv;
  test::Weights weights;
  std::vector<Floats> inputs;
};

Result<std::unique_ptr<AcceleratorRun>> make_run(const Example& example, const DividedChoice& choice, HostSim& gpu) {
  const Result<Estimate> estimate = describe_divided(example.conv, choice, gpu.spec());
  if (!estimate) return estimate.error();
  return AcceleratorRun::make(
      example.conv, *estimate, gpu,
      [&](Arena& persistent) {
        return prepare_divided(example.conv, choice, example.weights.view(), persistent, gpu, gpu.poison());
      },
      gpu.poison());
}

Result<Floats> run_divided(const Example& example, const DividedChoice& choice, HostSim& gpu) {
  Result<std::unique_ptr<AcceleratorRun>> run = make_run(example, choice, gpu);
  if (!run) return run.error();
  return (*run)->run(example.inputs);
}

// Returns the result of the layer as one sub-layer, in good order.
Floats whole(const Example& example) {
  HostSim gpu;
  return run_divided(example, {&test::sim_conv(), {}, {}, {}, {}, true}, gpu).value();
}

DividedChoice random_choice(const ConvProblem& conv, Random& random) {
  DividedChoice choice{&test::sim_conv(), {}, {}, {}, {}, random.chance(0.5)};
  choice.division.S = random.integer(0, conv.in.S);
  choice.division.slab = random.integer(0, output_shape(conv).n.z);
  if (random.chance(0.3)) {
    choice.in = choice.out = last_f32;
    if (random.chance(0.5)) return choice;
    choice.reorder = &test::sim_reorder();
  }
  choice.division.f_out = random.integer(0, conv.f_out);
  choice.division.f = random.integer(1, conv.in.f);
  while (conv.in.f % choice.division.f != 0) --choice.division.f;
  return choice;
}

TEST(DividedLayer, EveryDivisionEqualsTheWholeInAnyOrderOfWork) {
  for (int i = 0; i < test::case_count(60); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    const Example example(seed);
    const Floats expected = whole(example);
    Random random(seed);
    for (int division = 0; division < 4; ++division) {
      const DividedChoice choice = random_choice(example.conv, random);
      SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed) + ", " + to_string(LayerProblem(example.conv)) + ", " +
                   text_of(choice));
      HostSimOptions options;
      options.seed = seed * 8 + static_cast<std::uint64_t>(division);
      HostSim gpu(options);
      Result<std::unique_ptr<AcceleratorRun>> run = make_run(example, choice, gpu);
      ASSERT_TRUE(run) << run.error().message;
      for (int again = 0; again < 2; ++again) {
        const Result<Floats> found = (*run)->run(example.inputs);
        ASSERT_TRUE(found) << found.error().message;
        EXPECT_TRUE(bit_equal(*found, expected)) << "run " << again;
      }
      EXPECT_TRUE((*run)->held_what_was_declared());
    }
  }
}

// Rows are copied by the calling thread, by several threads, and in several pieces per row.
TEST(DividedLayer, RowsOfAnyLengthAreStaged) {
  for (const std::int64_t planes : {2, 20, 72}) {
    const Example example(1, {.in = {1, 2, {planes, 64, 64}}, .f_out = 1, .k = {1, 1, 1}, .activation = {}});
    HostSim unstaged;
    HostSim staged;
    const Result<Floats> expected =
        run_divided(example, {&test::sim_conv(), {}, {}, {}, {1, 1, 1, 0}, false}, unstaged);
    const Result<Floats> found = run_divided(example, {&test::sim_conv(), {}, {}, {}, {1, 1, 1, 0}, true}, staged);
    ASSERT_TRUE(expected && found);
    EXPECT_TRUE(bit_equal(*found, *expected)) << planes;
  }
}

const ConvProblem layer_conv{
    .in = {4, 4, {20, 8, 8}}, .f_out = 4, .k = {3, 3, 3}, .activation = {ActivationKind::relu, 0}, .residual = true};

TEST(DividedLayer, SendsItsInputOnceAndItsHalosAgain) {
  Example example(1, layer_conv);
  example.conv.residual = false;
  HostSim gpu;
  const DividedChoice choice{&test::sim_conv(), {}, {}, {}, {1, 0, 2, 6}, true};
  ASSERT_TRUE(run_divided(example, choice, gpu));
  EXPECT_EQ(gpu.uploads(), (test::LinkCount{4 * 3, 4 * 3 * std::int64_t{4 * 8 * 64 * 4}}));
  EXPECT_EQ(gpu.downloads().copies, 4 * 3 * 2);
  EXPECT_EQ(gpu.downloads().bytes, tensor_bytes(output_shape(layer_conv), {}));
}

// The simulation runs the streams piece by piece; the formula must give the same time.
TEST(DividedLayer, TakesTheTimeThatIsDeclared) {
  struct Rates {
    double flops;
    double link;
  };
  for (const Rates& rates : {Rates{1e8, 1e9}, Rates{1e9, 1e8}, Rates{1e10, 3e7}, Rates{2e9, 2.5e8}}) {
    for (const Division& division : {Division{1, 0, 0, 3}, Division{1, 0, 2, 0}, Division{2, 2, 0, 6},
                                     Division{1, 1, 2, 6}, Division{0, 0, 0, 0}}) {
      HostSimOptions options;
      options.spec.flops_per_second = rates.flops;
      options.spec.accelerator.up.bytes_per_second = rates.link;
      options.spec.accelerator.down.bytes_per_second = rates.link * 0.8;
      options.spec.accelerator.duplex_bytes_per_second = rates.link * 4;
      HostSim gpu(options);
      const Example example(1, layer_conv);
      DividedChoice choice{&test::sim_conv(), {}, {}, {}, division, false};
      if (division.slab > 0 && division.f_out == 0) {
        choice.in = choice.out = last_f32;
        choice.reorder = &test::sim_reorder();
      }
      Result<std::unique_ptr<AcceleratorRun>> run = make_run(example, choice, gpu);
      ASSERT_TRUE(run) << run.error().message;
      const double start = gpu.clock().now();
      ASSERT_TRUE((*run)->run(example.inputs));
      const double simulated = gpu.clock().now() - start;
      const double declared = describe_divided(example.conv, choice, gpu.spec()).value().time;
      EXPECT_NEAR(declared / simulated, 1.0, 0.1) << text_of(choice) << ", " << rates.flops << ", " << rates.link;
    }
  }
}

TEST(DividedLayer, ReportsWantOfMemoryAtEveryAllocationAndLeaksNothing) {
  const Example example(1, layer_conv);
  const DividedChoice choice{&test::sim_conv(), {}, {}, {}, {1, 2, 2, 6}, true};
  HostSim gpu;
  ASSERT_TRUE(run_divided(example, choice, gpu));
  const std::int64_t allocations = gpu.allocations();
  EXPECT_GT(allocations, 10);
  for (std::int64_t number = 1; number <= allocations; ++number) {
    gpu.fail_allocation(number);
    const Result<Floats> found = run_divided(example, choice, gpu);
    ASSERT_FALSE(found) << "allocation " << number;
    EXPECT_EQ(found.error().code, ErrorCode::over_budget);
    EXPECT_EQ(gpu.reserved(MemorySpace::pinned) + gpu.reserved(MemorySpace::device), 0);
    EXPECT_EQ(gpu.live_events(), 0);
  }
  EXPECT_TRUE(run_divided(example, choice, gpu));
}

TEST(DividedLayer, ReportsFailedWorkWhereverItHappens) {
  const Example example(1, layer_conv);
  const DividedChoice choice{&test::sim_conv(), {}, {}, {}, {2, 2, 0, 6}, true};
  std::int64_t pieces = 0;
  {
    HostSim gpu;
    ASSERT_TRUE(run_divided(example, choice, gpu));
    pieces = gpu.pieces_of_work();
  }
  for (std::int64_t number = 1; number <= pieces; number += 3) {
    HostSimOptions options;
    options.seed = static_cast<std::uint64_t>(number);
    HostSim gpu(options);
    gpu.fail_work(number);
    const Result<Floats> found = run_divided(example, choice, gpu);
    ASSERT_FALSE(found) << "piece " << number;
    EXPECT_EQ(found.error().code, ErrorCode::device_failure);
  }
}

}  // namespace
}  // namespace znni::hybrid
