#include "planner/train/step_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/network/padding.hpp"
#include "planner/train/trainable.hpp"
#include "primitives/core/index.hpp"
#include "tests/planner/dense_net.hpp"
#include "tests/planner/train/cpu_parts.hpp"

namespace znni {
namespace {

using testing::HasSubstr;

constexpr std::int64_t gibibyte = std::int64_t{1} << 30;
constexpr Activation relu{ActivationKind::relu, 0.0F};

Network chain() {
  Network net;
  net.name = "chain";
  net.nodes = {{"conv1", Convolution{17, Vec3::cube(3), Vec3::cube(1), relu}, {0}},
               {"pool", Pooling{PoolKind::max, Vec3::cube(2), Vec3::cube(2)}, {1}},
               {"conv2", Convolution{18, Vec3::cube(3), Vec3::cube(1), relu}, {2}},
               {"conv3", Convolution{2, Vec3::cube(1), Vec3::cube(1), {}}, {3}}};
  return net;
}

std::string error_of(const Network& net, Vec3 patch, const StepOptions& options) {
  const Result<StepPlan> plan = plan_step(net, patch, options, test::cpu_parts(1));
  return plan ? "" : plan.error().message;
}

// Expects that buffers alive together do not overlap, and lie within the packed bytes.
void expect_packed(const StepPlan& plan) {
  for (std::size_t a = 0; a < plan.memory.size(); ++a) {
    const Buffer& one = plan.memory[a];
    if (one.lifetime.persistent) continue;
    EXPECT_LE(plan.packing.offsets[a] + one.bytes, plan.bytes.step);
    for (std::size_t b = 0; b < a; ++b) {
      const Buffer& other = plan.memory[b];
      if (other.lifetime.persistent || other.lifetime.last < one.lifetime.first ||
          one.lifetime.last < other.lifetime.first) {
        continue;
      }
      const bool apart = plan.packing.offsets[a] + one.bytes <= plan.packing.offsets[b] ||
                         plan.packing.offsets[b] + other.bytes <= plan.packing.offsets[a];
      EXPECT_TRUE(apart) << one.name << " and " << other.name;
    }
  }
}

// Expects that each tensor is there from the call that writes it to the last that reads it.
void expect_alive(const StepPlan& plan) {
  for (const StepCall& call : plan.calls) {
    for (const int tensor : call.reads) {
      const Lifetime life = plan.memory[index(plan.tensors[index(tensor)].buffer)].lifetime;
      EXPECT_LE(life.first, call.first_stage);
      EXPECT_GE(life.last, call.first_stage);
    }
  }
}

TEST(StepPlan, BuffersOfRandomNetworksLiveAsLongAsTheyAreRead) {
  int planned = 0;
  for (int i = 0; i < test::case_count(60); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed));
    test::Random random(seed);
    const Network net = test::random_network(random);
    if (!check_trainable(net)) continue;
    const std::vector<PoolingMode> modes(pooling_nodes(net).size(), PoolingMode(PoolMode::fragments));
    const Vec3 patch = test::random_extent(net, modes, random, 2);
    const Result<StepPlan> plan = plan_step(net, patch, {gibibyte}, test::cpu_parts(1));
    ASSERT_TRUE(plan) << plan.error().message;
    ++planned;
    expect_packed(*plan);
    expect_alive(*plan);
    EXPECT_EQ(persistent_bytes(plan->memory), plan->bytes.weights + plan->bytes.gradients);
    EXPECT_EQ(plan->output.n, plan->geometry.patch_output);
  }
  EXPECT_GT(planned, 0);
}

TEST(StepPlan, MoreMemoryNeverPredictsASlowerStep) {
  const Network net = chain();
  const StepParts parts = test::cpu_parts(1);
  const StepPlan most = plan_step(net, Vec3::cube(33), {gibibyte}, parts).value();
  Seconds before = 1e9;
  std::size_t refused = 0;
  bool faster = false;
  for (int i = 1; i <= 40; ++i) {
    const std::int64_t mem = most.bytes.total() * i / 32;
    const Result<StepPlan> plan = plan_step(net, Vec3::cube(33), {mem}, parts);
    if (!plan) {
      EXPECT_EQ(plan.error().code, ErrorCode::over_budget);
      EXPECT_EQ(before, 1e9) << "refused after a smaller limit sufficed";
      ++refused;
      continue;
    }
    EXPECT_LE(plan->bytes.total(), mem);
    EXPECT_LE(plan->seconds, before);
    faster = faster || (before < 1e9 && plan->seconds < before);
    before = plan->seconds;
  }
  EXPECT_GT(refused, 0U);
  EXPECT_TRUE(faster);
  EXPECT_EQ(before, most.seconds);
}

TEST(StepPlan, TheSmallestStepIsNamedWhereTheLimitIsBelow) {
  const Network net = chain();
  const Vec3 patch{33, 31, 29};
  const std::string message = error_of(net, patch, {1 << 20});
  EXPECT_THAT(message, HasSubstr("a step of patch 33x31x29 needs at least "));
  EXPECT_THAT(message, HasSubstr(", and 1.00 MiB are left of --mem: take a smaller patch"));
}

TEST(StepPlan, NamesThePatchesThatFitThePoolings) {
  EXPECT_EQ(error_of(chain(), {33, 32, 29}, {gibibyte}),
            "patch.y = 32 does not fit the windows and strides of network chain: take 31 or 33");
  EXPECT_EQ(error_of(chain(), {33, 31, 4}, {gibibyte}),
            "patch.x = 4 does not fit the windows and strides of network chain: take 9");
  EXPECT_EQ(error_of(chain(), Vec3::cube(32), {gibibyte, true}), "");
}

// Returns a U-Net of one level that pads along all axes but z.
Network unet() {
  Network net;
  net.name = "unet";
  const Convolution conv{3, {1, 3, 3}, Vec3::cube(1), relu};
  const Vec3 two{1, 2, 2};
  net.nodes = {{"top", conv, {0}},         {"pool", Pooling{PoolKind::max, two, two}, {1}},
               {"below", conv, {2}},       {"up", Upsample{two, UpsampleKind::nearest}, {3}},
               {"both", Concat{}, {1, 4}}, {"last", conv, {5}}};
  const Border around{{0, 1, 1}, {0, 1, 1}};
  return without_padding({net, {}}, {around, {}, around, {}, {}, around}).value().network;
}

TEST(StepPlan, APatchThatIsPaddedIsAWholeVolume) {
  const StepPlan plan = plan_step(unet(), {3, 8, 12}, {gibibyte}, test::cpu_parts(1)).value();
  EXPECT_EQ(plan.input, (Shape5{1, 1, {3, 8, 12}}));
  EXPECT_EQ(plan.tensors[0].shape.n, (Vec3{3, 10, 14}));
  EXPECT_EQ(plan.input_begin, (Vec3{0, 1, 1}));
  EXPECT_EQ(plan.output, (Shape5{1, 3, {3, 8, 12}}));
  expect_packed(plan);
  expect_alive(plan);
  EXPECT_THAT(describe(plan).back(), HasSubstr(", 3x8x12 -> 3x8x12; "));
  EXPECT_THAT(error_of(unet(), {3, 8, 13}, {gibibyte}),
              HasSubstr("patch.x = 13 does not fit the windows and strides of network unet: take 12 or 14"));
  EXPECT_THAT(error_of(unet(), {3, 8, 12}, {1 << 12}), HasSubstr("a step of patch 3x8x12 needs at least "));
}

TEST(StepPlan, SparseStepsWriteTheFirstOffsetsAlone) {
  const StepPlan dense = plan_step(chain(), Vec3::cube(33), {gibibyte}, test::cpu_parts(1)).value();
  const StepPlan sparse = plan_step(chain(), Vec3::cube(32), {gibibyte, true}, test::cpu_parts(1)).value();
  EXPECT_EQ(dense.output, (Shape5{1, 2, Vec3::cube(26)}));
  EXPECT_EQ(sparse.output, (Shape5{1, 2, Vec3::cube(13)}));
  EXPECT_LT(sparse.seconds, dense.seconds);
}

TEST(StepPlan, IsDescribedCallByCall) {
  const StepPlan plan = plan_step(chain(), Vec3::cube(33), {gibibyte}, test::cpu_parts(1)).value();
  const std::vector<std::string> lines = describe(plan);
  ASSERT_EQ(lines.size(), plan.calls.size() + 3);
  EXPECT_THAT(lines[0], HasSubstr("computes"));
  EXPECT_THAT(lines[1], HasSubstr("forward"));
  EXPECT_THAT(lines[lines.size() - 3], HasSubstr("gradient of the weights"));
  EXPECT_THAT(lines.back(), HasSubstr("33x33x33 -> 26x26x26"));
}

}  // namespace
}  // namespace znni
