// The contract of describe(): one refusal with a reason, or sound estimates, always the same. This holds for any legal
// problem of any size, and describe() never allocates it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/support/cpu.hpp"

namespace znni::test {
namespace {

const Buffer* find(const MemoryPlan& plan, std::string_view name) {
  for (const Buffer& buffer : plan) {
    if (buffer.name == name) return &buffer;
  }
  return nullptr;
}

void expect_sound_plan(const LayerProblem& problem, const Estimate& estimate) {
  std::set<std::string> names;
  for (const Buffer& buffer : estimate.memory) {
    EXPECT_TRUE(names.insert(buffer.name).second) << "two buffers are named " << buffer.name;
    EXPECT_GE(buffer.bytes, 0) << buffer.name;
    EXPECT_EQ(buffer.space, MemorySpace::host) << buffer.name;
    EXPECT_LE(buffer.lifetime.first, buffer.lifetime.last) << buffer.name;
  }
  for (int index = 0; index < input_count(problem); ++index) {
    const Buffer* input = find(estimate.memory, input_name(index));
    ASSERT_NE(input, nullptr) << input_name(index);
    const Format format = input_format(problem, index, estimate.in, estimate.out);
    EXPECT_EQ(input->bytes, tensor_bytes(input_shape(problem, index), format));
    EXPECT_EQ(input->lifetime.first, 0);
  }
  const Buffer* output = find(estimate.memory, output_name);
  ASSERT_NE(output, nullptr);
  EXPECT_EQ(output->bytes, tensor_bytes(output_shape(problem), estimate.out));
  EXPECT_EQ(output->lifetime.last, stage_count(estimate.memory) - 1) << "the output must survive the run";
}

void expect_sound_refusal(const Primitive& primitive, const Error& error) {
  EXPECT_EQ(error.code, ErrorCode::unsupported) << error.message;
  EXPECT_THAT(error.message, ::testing::StartsWith(std::string(primitive.name) + " "));
  EXPECT_THAT(error.message, ::testing::Not(::testing::HasSubstr("\n")));
  EXPECT_GT(error.message.size(), primitive.name.size() + 10) << error.message;
}

void expect_sound(const Primitive& primitive, const LayerProblem& problem, const DeviceSpec& spec) {
  SCOPED_TRACE(std::string(primitive.name) + ", " + to_string(problem));
  const Result<std::vector<Estimate>> estimates = primitive.describe(problem, spec);
  if (!estimates) return expect_sound_refusal(primitive, estimates.error());
  EXPECT_FALSE(estimates->empty()) << "neither an estimate nor a refusal";
  std::set<std::tuple<std::string, Format, Format>> choices;
  for (const Estimate& estimate : *estimates) {
    EXPECT_GT(estimate.time, 0.0);
    EXPECT_TRUE(choices.insert({to_string(estimate.variant), estimate.in, estimate.out}).second) << "twice the same";
    expect_sound_plan(problem, estimate);
  }
}

bool equal(const Estimate& a, const Estimate& b) {
  return a.variant == b.variant && a.in == b.in && a.out == b.out && a.time == b.time && a.memory == b.memory;
}

TEST(ContractDescribe, EstimatesOrRefusesEveryRandomProblem) {
  for (const int threads : {1, 3}) {
    for (const int simd_floats : {4, 8, 16}) {
      DeviceSpec spec = cpu::describe_cpu(threads);
      spec.simd_floats = simd_floats;
      for (int i = 0; i < case_count(100); ++i) {
        Random random(base_seed() + static_cast<std::uint64_t>(i));
        const LayerProblem one = random_problem(random);
        const LayerProblem two = random_conv_pool_of_pairs(random, 8);
        const LayerProblem three = random_norm(random);
        const LayerProblem four = random_across(random);
        for (const Primitive* primitive : cpu::registry()) {
          expect_sound(*primitive, one, spec);
          expect_sound(*primitive, two, spec);
          expect_sound(*primitive, three, spec);
          expect_sound(*primitive, four, spec);
        }
      }
    }
  }
}

TEST(ContractDescribe, GivesTheSameAnswerTwice) {
  const DeviceSpec spec = cpu::describe_cpu(2);
  for (int i = 0; i < case_count(50); ++i) {
    Random random(base_seed() + static_cast<std::uint64_t>(i));
    const LayerProblem problem = random_problem(random);
    for (const Primitive* primitive : cpu::registry()) {
      const Result<std::vector<Estimate>> first = primitive->describe(problem, spec);
      const Result<std::vector<Estimate>> second = primitive->describe(problem, spec);
      ASSERT_EQ(first.has_value(), second.has_value());
      if (!first) continue;
      EXPECT_TRUE(std::equal(first->begin(), first->end(), second->begin(), second->end(), equal))
          << primitive->name << ", " << to_string(problem);
    }
  }
}

TEST(ContractDescribe, NoWayOfALocalConvolutionSpreads) {
  const DeviceSpec spec = cpu::describe_cpu(2);
  for (int i = 0; i < case_count(50); ++i) {
    Random random(base_seed() + static_cast<std::uint64_t>(i));
    ConvPoolProblem both = random_conv_pool_of_pairs(random, 3);
    both.conv.local = true;
    int ways = 0;
    for (const LayerProblem& problem : {LayerProblem(both.conv), LayerProblem(both)}) {
      for (const Primitive* primitive : cpu::registry()) {
        const Result<std::vector<Estimate>> estimates = primitive->describe(problem, spec);
        if (!estimates) continue;
        for (const Estimate& estimate : *estimates) {
          EXPECT_EQ(estimate.spread, Vec3{}) << primitive->name << ", " << to_string(problem);
          ++ways;
        }
      }
    }
    EXPECT_GT(ways, 0) << to_string(LayerProblem(both.conv));
  }
}

TEST(ContractDescribe, EveryPrimitiveRefusesOtherKindsOfLayer) {
  const Shape5 shape{1, 4, {5, 5, 5}};
  const ConvProblem conv{shape, 3, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}, {}};
  const std::vector<std::vector<LayerProblem>> kinds = {
      {conv, ConvProblem{shape, 3, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {}}},
      {ConvProblem{shape, 4, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}, {}, false, {}, 2}},
      {PoolProblem{.in = shape}},
      {ConvPoolProblem{conv, {.in = output_shape(conv)}}},
      {PoolProblem{.in = shape, .kind = PoolKind::average}},
      {PoolProblem{.in = shape, .kind = PoolKind::average_inside}},
      {PoolProblem{.in = shape, .mode = PoolMode::fragments}},
      {ActivationProblem{shape, {}}},
      {AcrossChannelsProblem{shape}, AcrossChannelsProblem{shape, AcrossKind::log_softmax}},
      {AcrossChannelsProblem{shape, AcrossKind::arg_max}, AcrossChannelsProblem{shape, AcrossKind::arg_max_last}},
      {AcrossChannelsProblem{shape, AcrossKind::norm}, AcrossChannelsProblem{shape, AcrossKind::unit}},
      {ScaleShiftProblem{shape}},
      {PReluProblem{shape}},
      {NormProblem{shape, 2}, NormProblem{shape, 2, 1e-5F, {}, NormKind::response}},
      {AttentionProblem{shape, 6, 2}},
      {AddVolumeProblem{shape, shape.n}},
      {GlobalPoolProblem{shape}, GlobalPoolProblem{shape, PoolKind::max}},
      {AddProblem{shape, 2, {}}},
      {MultiplyProblem{shape, 1}, MultiplyProblem{shape, shape.f}},
      {DivideProblem{shape, 1}, DivideProblem{shape, shape.f}},
      {ConcatProblem{{shape, shape}}},
      {CropProblem{shape, {1, 0, 1}, {0, 2, 1}}},
      {ReorderProblem{shape, {}, {ElementType::f32, Layout::blocked8}}},
      {StackProblem{shape, {{StackOperation::pool, PoolKind::max, {2, 2, 2}}}}},
      {UpsampleProblem{shape, {1, 2, 2}, UpsampleKind::nearest},
       UpsampleProblem{shape, {1, 2, 2}, UpsampleKind::shuffle},
       UpsampleProblem{shape, {1, 2, 2}, UpsampleKind::linear},
       UpsampleProblem{shape, {1, 2, 2}, UpsampleKind::aligned}},
  };
  for (const Primitive* primitive : cpu::registry()) {
    const auto takes = [primitive](const LayerProblem& problem) {
      const auto estimates = primitive->describe(problem, cpu::describe_cpu(1));
      if (!estimates) expect_sound_refusal(*primitive, estimates.error());
      return estimates.has_value();
    };
    int taken = 0;
    for (const std::vector<LayerProblem>& kind : kinds) {
      taken += std::any_of(kind.begin(), kind.end(), takes) ? 1 : 0;
    }
    EXPECT_EQ(taken, takes_part(*primitive) ? 1 : 0) << primitive->name << " computes one kind of layer";
  }
}

// A graph pass may fold any addition into any convolution before primitives are chosen, so at least one way must be
// left.
TEST(ContractDescribe, EveryConvolutionTakesAResidualInSomePlanarWay) {
  const DeviceSpec spec = cpu::describe_cpu(2);
  for (int i = 0; i < case_count(100); ++i) {
    Random random(base_seed() + static_cast<std::uint64_t>(i));
    ConvProblem problem = random_conv(random);
    problem.residual = true;
    int planar = 0;
    for (const Primitive* primitive : cpu::registry()) {
      const Result<std::vector<Estimate>> estimates = primitive->describe(problem, spec);
      if (!estimates) continue;
      planar += static_cast<int>(std::count_if(estimates->begin(), estimates->end(), [](const Estimate& estimate) {
        return estimate.in == Format{} && estimate.out == Format{};
      }));
    }
    EXPECT_GE(planar, 2) << to_string(LayerProblem(problem));
  }
}

// No machine has these sizes: numbers saturate, nothing wraps, nothing is allocated.
TEST(ContractDescribe, SurvivesHugeProblems) {
  const DeviceSpec spec = cpu::describe_cpu(2);
  Random random(base_seed());
  for (int i = 0; i < case_count(200); ++i) {
    const auto extent = [&] { return std::int64_t{1} << random.integer(0, 19); };
    ConvProblem conv{{extent(), extent(), {extent(), extent(), extent()}},
                     extent(),
                     random.vec3(1, 9),
                     random.vec3(1, 3),
                     {1, 1, 1},
                     {},
                     random.chance(0.5)};
    conv.in.n = max(conv.in.n, dilated(conv.k, conv.dilation));
    PoolProblem pool{.in = conv.in};
    const PoolProblem behind{.in = output_shape(conv)};
    ConvPoolProblem both{conv, behind};
    both.conv.residual = false;
    for (const LayerProblem& problem : {LayerProblem(conv), LayerProblem(pool), LayerProblem(both)}) {
      if (!check(problem)) continue;
      for (const Primitive* primitive : cpu::registry()) {
        SCOPED_TRACE(std::string(primitive->name) + ", " + to_string(problem));
        const Result<std::vector<Estimate>> estimates = primitive->describe(problem, spec);
        if (!estimates) continue;
        for (const Estimate& estimate : *estimates) {
          EXPECT_GE(peak(estimate.memory), 0);
          EXPECT_GE(persistent_bytes(estimate.memory), 0);
          EXPECT_GE(peak(estimate.memory), tensor_bytes(output_shape(problem), estimate.out));
        }
      }
    }
  }
}

}  // namespace
}  // namespace znni::test
