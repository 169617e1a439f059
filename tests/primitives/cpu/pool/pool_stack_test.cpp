#include <gtest/gtest.h>

#include "tests/oracle/stacks.hpp"
#include "tests/oracle/tolerance.hpp"
#include "tests/support/cpu.hpp"

namespace znni::cpu {
extern const Primitive pool_stack;

namespace {

using test::Random;

// Calls body(device) for each vector width that this processor has.
template <class Body>
void for_each_width(int threads, const Body& body) {
  for (const int simd_floats : {16, 8, 4}) {
    if (simd_floats <= describe_cpu(1).simd_floats) body(*test::open_cpu(threads, simd_floats));
  }
}

// Where the inputs of a stack lie.
struct Places {
  std::vector<Vec3> starts;
  Vec3 whole;
};

// Returns places of pieces that reach beyond their volume, lie inside, cover it, or do not meet it.
Places random_places(const StackProblem& stack, Random& random) {
  const Vec3 n = stack.in.n;
  Places places{{}, random.vec3(1, 14)};
  for (int axis = 0; axis < 3; ++axis) {
    if (random.chance(0.2)) places.whole[axis] += 40;
    if (stack.closed[axis] == 1) places.whole[axis] = random.chance(0.5) ? n[axis] : random.integer(1, n[axis]);
  }
  for (std::int64_t s = 0; s < stack.in.S; ++s) {
    Vec3 start;
    for (int axis = 0; axis < 3; ++axis) {
      if (stack.closed[axis] == 0) start[axis] = random.integer(-n[axis] - 2, places.whole[axis] + 2);
    }
    places.starts.push_back(start);
  }
  return places;
}

// Checks every estimate against the oracle, in both placings.
void check_placed(const StackProblem& stack, const Places& places, Device& device, std::uint64_t seed) {
  Random random(seed + 1000);
  const test::Weights weights = test::random_weights(stack, random);
  const std::vector<std::vector<float>> inputs = test::random_inputs(stack, random);
  const std::vector<oracle::Values> exact = {oracle::widened(inputs[0])};
  const oracle::Values expected = oracle::stacked(stack, exact[0], weights.view(), places.starts, places.whole);
  const double tolerance = oracle::tolerance(stack, exact, weights.view());
  const std::vector<Estimate> estimates = pool_stack.describe(stack, device.spec()).value();
  for (const Estimate& estimate : estimates) {
    for (const test::Placing placing : {test::Placing::packed, test::Placing::separate}) {
      const auto harness = test::Harness::make(pool_stack, stack, estimate, weights.view(), device, placing, seed);
      ASSERT_TRUE(harness) << harness.error().message;
      (*harness)->place(places.starts, places.whole);
      const Result<test::Outcome> outcome = (*harness)->run(inputs);
      ASSERT_TRUE(outcome) << outcome.error().message;
      const std::string name = test::name_of(pool_stack, stack, estimate, seed);
      test::expect_close(outcome->values, expected, tolerance, name);
      EXPECT_TRUE(outcome->padding_is_zero && outcome->surroundings_kept) << name;
    }
  }
}

TEST(PoolStack, MatchesTheOracleOnRandomProblems) {
  for_each_width(2, [](Device& device) {
    for (int i = 0; i < test::case_count(15); ++i) {
      const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
      Random random(seed);
      test::check_primitive(pool_stack, test::random_stack(random), device, seed);
    }
  });
}

TEST(PoolStack, PadsWhereAPieceEndsBeyondItsVolume) {
  for_each_width(3, [](Device& device) {
    for (int i = 0; i < test::case_count(25); ++i) {
      const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
      Random random(seed);
      const StackProblem stack = test::random_stack(random);
      check_placed(stack, random_places(stack, random), device, seed);
    }
  });
}

// Workers of small caches take rows in blocks, and many of them parts of few channels.
TEST(PoolStack, BlocksAndPartsFitTogether) {
  for_each_width(1, [](Device& own) {
    for (int i = 0; i < test::case_count(12); ++i) {
      const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
      Random random(seed);
      DeviceSpec spec = own.spec();
      spec.threads = static_cast<int>(random.integer(1, 5));
      spec.l2_bytes = std::int64_t{1} << random.integer(11, 15);
      const std::unique_ptr<Device> device = std::move(backend().open(spec, std::int64_t{1} << 30, 0, 0).value());
      StackProblem stack = test::random_stack(random);
      stack.in.S = 1;
      if (random.chance(0.2)) {
        stack.in.f = 2;
        stack.in.n.x += 600;
      }
      check_placed(stack, random_places(stack, random), *device, seed);
      test::check_primitive(pool_stack, stack, *device, seed);
    }
  });
}

// Ten poolings as nets have them, of extents that no block or vector divides.
TEST(PoolStack, DepthsAgree) {
  StackProblem stack{{1, 19, {7, 9, 13}}, {}, Vec3::cube(1)};
  for (int i = 0; i < 10; ++i) {
    stack.stages.push_back({StackOperation::pool, PoolKind::max, Vec3::cube(3), Vec3::cube(1), Vec3::cube(1)});
    stack.stages.push_back({StackOperation::scale_shift});
    stack.stages.push_back({StackOperation::activation, PoolKind::max, Vec3::cube(1), {}, {}, {ActivationKind::relu}});
  }
  for_each_width(2, [&](Device& device) {
    EXPECT_EQ(pool_stack.describe(stack, device.spec()).value().size(), 2 * 5U);
    test::check_primitive(pool_stack, stack, device, test::base_seed());
  });
}

TEST(PoolStack, APlaceHoldsUntilTheNext) {
  const StackProblem stack{{1, 1, {1, 1, 5}},
                           {{StackOperation::pool, PoolKind::average, {1, 1, 3}, {0, 0, 1}, {0, 0, 1}}}};
  const std::unique_ptr<Device> device = test::open_cpu(1);
  const std::vector<std::vector<float>> inputs = {{3, 6, 9, 12, 15}};
  const Estimate estimate = pool_stack.describe(stack, device->spec()).value().front();
  const auto harness = test::Harness::make(pool_stack, stack, estimate, {}, *device, test::Placing::packed).value();
  const Vec3 start{0, 0, -1};
  for (int i = 0; i < 2; ++i) EXPECT_EQ(harness->run(inputs)->values, (std::vector<float>{6, 9, 12}));
  harness->place(std::span(&start, 1), {1, 1, 3});
  for (int i = 0; i < 2; ++i) EXPECT_EQ(harness->run(inputs)->values, (std::vector<float>{5, 9, 7}));
  harness->place({}, {});
  EXPECT_EQ(harness->run(inputs)->values, (std::vector<float>{6, 9, 12}));
}

TEST(PoolStack, RefusesOtherLayers) {
  test::expect_refusal(pool_stack, PoolProblem{.in = {1, 1, {4, 4, 4}}}, "stacks of poolings");
}

}  // namespace
}  // namespace znni::cpu
