#include "planner/layers/divisions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "tests/support/host_sim.hpp"
#include "tests/support/random.hpp"
#include "tests/support/sim_primitives.hpp"

namespace znni {
namespace {

using testing::HasSubstr;

constexpr std::int64_t much = std::int64_t{1} << 40;
constexpr SpaceBytes endless_memory{0, much, much};
constexpr Seconds endless = std::numeric_limits<Seconds>::infinity();

const hybrid::DividedChoice by_sim{&test::sim_conv(), {}, {}, {}, {}, true};

using Primitives = std::vector<const Primitive*>;

ConvProblem conv_of(const Shape5& in, std::int64_t f_out) {
  return {.in = in, .f_out = f_out, .k = {3, 3, 3}, .activation = {}};
}

Result<DividedOption> fastest(const ConvProblem& conv, const Primitives& inner, const DeviceSpec& gpu,
                              const SpaceBytes& memory = endless_memory, Seconds below = endless,
                              const SubLayerRules& rules = {}) {
  return DivisionSearch(conv, inner, gpu, rules, below).fastest(memory, below);
}

// Sub-layers that were asked for, as of a library that is slow to describe.
std::vector<LayerProblem> asked_for;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
Result<std::vector<Estimate>> describe_slowly(const LayerProblem& problem, const DeviceSpec& spec) {
  asked_for.push_back(problem);
  Result<std::vector<Estimate>> estimates = test::sim_conv().describe(problem, spec);
  if (!estimates) return estimates;
  for (Estimate& estimate : *estimates) estimate.time *= voxels(input_shape(problem, 0).n) % 3 == 0 ? 1.25 : 1;
  Estimate large = estimates->front();
  large.variant.push_back({"large", 1});
  large.memory.push_back({"area", MemorySpace::device, 1 << 12, Lifetime::stages(0, 0)});
  estimates->insert(estimates->begin(), std::move(large));
  return estimates;
}
Seconds min_of_slow(const LayerProblem& problem, const DeviceSpec& spec) {
  return 1e-6 + direct_flops(problem) / spec.flops_per_second;
}
constinit const Primitive slow_conv{"sim.slow_conv", 1, DeviceKind::gpu, describe_slowly, nullptr, min_of_slow};

// Returns the options of every division, in order.
std::vector<DividedOption> all_options(const ConvProblem& conv, const Primitives& inner, const DeviceSpec& gpu) {
  const auto halves = [](std::int64_t sublayer) {
    std::vector<std::int64_t> sublayers = {sublayer};
    while (sublayer > 1) sublayers.push_back(sublayer = (sublayer + 1) / 2);
    return sublayers;
  };
  std::vector<DividedOption> all;
  for (const Primitive* primitive : inner) {
    for (std::int64_t f = conv.in.f; f >= 1; --f) {
      if (conv.in.f % f != 0) continue;
      for (const std::int64_t f_out : halves(conv.f_out)) {
        for (const std::int64_t slab : halves(conv.in.n.z - 2)) {
          for (const std::int64_t S : halves(conv.in.S)) {
            for (const bool large : {true, false}) {
              hybrid::DividedChoice choice{primitive, {}, {}, {}, {S, f, f_out, slab}, true};
              if (large) choice.variant.push_back({"large", 1});
              Result<Estimate> estimate = hybrid::describe_divided(conv, choice, gpu);
              if (!estimate) continue;
              SpaceBytes use = bytes_of(estimate->memory);
              use.host = 0;
              all.push_back({choice, *std::move(estimate), use});
            }
          }
        }
      }
    }
  }
  return all;
}

// Returns the fastest of those that fit and that no other beats in all; of equals the first.
const DividedOption* best_of(const std::vector<DividedOption>& all, const SpaceBytes& memory, Seconds below) {
  const DividedOption* best = nullptr;
  for (const DividedOption& one : all) {
    if (!memory.covers(one.use) || one.estimate.time >= below) continue;
    const bool is_bettered = std::any_of(all.begin(), all.end(), [&](const DividedOption& other) {
      const bool differs = other.estimate.time < one.estimate.time || other.use != one.use;
      return differs && other.estimate.time <= one.estimate.time && one.use.covers(other.use);
    });
    if (!is_bettered && (best == nullptr || one.estimate.time < best->estimate.time)) best = &one;
  }
  return best;
}

TEST(DivisionSearch, FindsTheBestOfAllInAnyMemory) {
  test::Random random(test::base_seed() + 7);
  int found = 0;
  for (int i = 0; i < test::case_count(10); ++i) {
    ConvProblem conv =
        conv_of({random.integer(1, 3), random.integer(1, 4), {random.integer(4, 12), 9, 8}}, random.integer(1, 6));
    conv.residual = random.chance(0.3);
    DeviceSpec gpu = test::host_sim_spec();
    gpu.accelerator.staging_bytes_per_second = random.chance(0.5) ? 1e6 : 1e12;
    gpu.flops_per_second = random.chance(0.5) ? 1e9 : 1e11;
    Primitives inner = {&slow_conv, &test::sim_conv()};
    if (random.chance(0.5)) std::swap(inner[0], inner[1]);
    const std::vector<DividedOption> all = all_options(conv, inner, gpu);
    const Seconds middle = all[all.size() / 2].estimate.time;
    DivisionSearch search(conv, inner, gpu, {}, random.chance(0.5) ? endless : 2 * middle);
    for (int asked = 0; asked < 10; ++asked) {
      const SpaceBytes memory{0, random.integer(1 << 9, 1 << 15), random.integer(1 << 9, 1 << 15)};
      const Seconds below = random.chance(0.3) ? middle : 2 * middle;
      if (random.chance(0.3)) {
        EXPECT_LE(search.min_seconds(), best_of(all, endless_memory, endless)->estimate.time);
      }
      const Result<DividedOption> option = search.fastest(memory, below);
      const DividedOption* const expected = best_of(all, memory, below);
      ASSERT_EQ(option.has_value(), expected != nullptr) << i;
      if (!option) continue;
      ++found;
      EXPECT_EQ(option->choice.division, expected->choice.division) << i;
      EXPECT_EQ(option->choice.inner, expected->choice.inner);
      EXPECT_EQ(option->choice.variant, expected->choice.variant);
      EXPECT_EQ(option->estimate.time, expected->estimate.time);
      EXPECT_EQ(option->estimate.memory, expected->estimate.memory);
      EXPECT_EQ(option->use, expected->use);
    }
  }
  EXPECT_GT(found, 0);
}

// Sub-layers overlap with copies: a layer that fits as a whole is still faster in sub-layers.
TEST(DivisionSearch, IsNeverSlowerThanTheWhole) {
  const ConvProblem conv = conv_of({1, 8, {24, 24, 24}}, 8);
  const DeviceSpec gpu = test::host_sim_spec();
  const DividedOption option = fastest(conv, {&test::sim_conv()}, gpu).value();
  EXPECT_LT(option.estimate.time, hybrid::describe_divided(conv, by_sim, gpu)->time);
}

TEST(DivisionSearch, AsksALibraryForFewPartsAndForNoneTwice) {
  const ConvProblem conv = conv_of({8, 16, {66, 40, 40}}, 16);
  const DeviceSpec gpu = test::host_sim_spec();
  asked_for.clear();
  const Primitives inner = {&slow_conv};
  DivisionSearch search(conv, inner, gpu, {}, endless);
  EXPECT_GT(search.min_seconds(), 0);
  EXPECT_TRUE(asked_for.empty());
  Seconds before = search.min_seconds();
  for (std::int64_t device = std::int64_t{1} << 26; device >= 1 << 20; device /= 2) {
    const Seconds seconds = search.fastest({0, device, device}, endless).value().estimate.time;
    EXPECT_GE(seconds, before);
    before = seconds;
  }
  EXPECT_LT(asked_for.size(), 200U) << "of some 2000 parts";
  std::sort(asked_for.begin(), asked_for.end());
  EXPECT_EQ(std::adjacent_find(asked_for.begin(), asked_for.end()), asked_for.end());
  const std::size_t asked = asked_for.size();
  EXPECT_FALSE(search.fastest(endless_memory, search.min_seconds()));
  EXPECT_EQ(asked_for.size(), asked);
}

TEST(DivisionSearch, GivesTheBestOfWhatWasDescribedWhenStopped) {
  const ConvProblem conv = conv_of({8, 16, {66, 40, 40}}, 16);
  const DeviceSpec gpu = test::host_sim_spec();
  const Primitives inner = {&slow_conv};
  const SpaceBytes memory{0, 1 << 20, 1 << 20};
  const Seconds free = DivisionSearch(conv, inner, gpu, {}, endless).fastest(memory, endless)->estimate.time;
  int given = 0;
  for (const std::size_t most : {0, 1, 2, 4, 8, 16, 32}) {
    asked_for.clear();
    const SubLayerRules rules{Precision::fp32, nullptr, [&] { return asked_for.size() >= most; }};
    DivisionSearch search(conv, inner, gpu, rules, endless);
    const Result<DividedOption> option = search.fastest(memory, endless);
    EXPECT_LE(asked_for.size(), most + 4) << "no further than one division: the whole layer and three parts";
    if (!option) {
      EXPECT_EQ(option.error().code, ErrorCode::cancelled);
      continue;
    }
    ++given;
    EXPECT_GE(option->estimate.time, free);
    EXPECT_TRUE(memory.covers(option->use));
    const Estimate again = hybrid::describe_divided(conv, option->choice, gpu).value();
    EXPECT_EQ(option->estimate.time, again.time);
    EXPECT_EQ(option->estimate.memory, again.memory);
  }
  EXPECT_GT(given, 0);
}

// Only those that take less.
TEST(DivisionSearch, LeavesOutWhatTakesTooLong) {
  const ConvProblem conv = conv_of({2, 4, {12, 10, 9}}, 6);
  const DeviceSpec gpu = test::host_sim_spec();
  const Seconds seconds = fastest(conv, {&test::sim_conv()}, gpu).value().estimate.time;
  EXPECT_EQ(fastest(conv, {&test::sim_conv()}, gpu, endless_memory, seconds * 1.000001)->estimate.time, seconds);
  for (const Seconds below : {seconds, 0.0}) {
    const Result<DividedOption> none = fastest(conv, {&test::sim_conv()}, gpu, endless_memory, below);
    EXPECT_THAT(none.error().message, HasSubstr("slower than another patch"));
  }
}

TEST(DivisionSearch, FitsAnyBudgetThatCanBeMetAndLessMemoryIsNeverFaster) {
  test::Random random(test::base_seed());
  const Primitives inner = {&test::sim_conv()};
  const DeviceSpec gpu = test::host_sim_spec();
  for (int i = 0; i < test::case_count(10); ++i) {
    const ConvProblem conv = conv_of({random.integer(1, 4), 4, {12, 10, 9}}, random.integer(2, 8));
    DivisionSearch search(conv, inner, gpu, {}, endless);
    Seconds before = 0;
    for (std::int64_t device = 1 << 20; device >= 1 << 10; device /= 2) {
      const SpaceBytes budget{0, device, device};
      const Result<DividedOption> option = search.fastest(budget, endless);
      if (!option) {
        EXPECT_EQ(option.error().code, ErrorCode::over_budget);
        EXPECT_THAT(option.error().message, HasSubstr("in sub-layers needs at least"));
        break;
      }
      EXPECT_TRUE(budget.covers(option->use)) << to_string(option->use);
      EXPECT_GE(option->estimate.time, before);
      before = option->estimate.time;
    }
  }
}

// Describes the simulated GPU's convolution for tensors of up to 2000 voxels and six channels alone.
Result<std::vector<Estimate>> describe_small(const LayerProblem& problem, const DeviceSpec& spec) {
  const Shape5 in = input_shape(problem, 0);
  if (in.f <= 6 && voxels(in.n) <= 2000) return test::sim_conv().describe(problem, spec);
  return Error{ErrorCode::unsupported, "is too large"};
}
constinit const Primitive small_conv{"sim.small_conv", 1, DeviceKind::gpu, describe_small, nullptr};

// Adds a faster variant in TF32, which is not float32.
Result<std::vector<Estimate>> describe_rounded(const LayerProblem& problem, const DeviceSpec& spec) {
  Result<std::vector<Estimate>> estimates = test::sim_conv().describe(problem, spec);
  if (!estimates) return estimates;
  Estimate rounded = estimates->front();
  rounded.variant.push_back({"tf32", 1});
  rounded.time /= 100;
  estimates->push_back(std::move(rounded));
  return estimates;
}
constinit const Primitive rounded_conv{"sim.rounded_conv", 1, DeviceKind::gpu, describe_rounded, nullptr};

TEST(DivisionSearch, TakesProductsInTf32OnlyWhereAllowed) {
  const ConvProblem conv = conv_of({1, 4, {12, 10, 9}}, 6);
  const DeviceSpec gpu = test::host_sim_spec();
  const DividedOption exact = fastest(conv, {&rounded_conv}, gpu).value();
  EXPECT_EQ(setting(exact.estimate.variant, "tf32", 0), 0);
  const DividedOption rounded =
      fastest(conv, {&rounded_conv}, gpu, endless_memory, endless, {Precision::tf32, nullptr}).value();
  EXPECT_EQ(setting(rounded.estimate.variant, "tf32", 0), 1);
  EXPECT_LT(rounded.estimate.time, exact.estimate.time);
}

// Matrix units take other formats than that in which sub-layers travel.
TEST(DivisionSearch, ReordersPartsWhereThePrecisionAllowsTheFormat) {
  const ConvProblem conv = conv_of({2, 4, {12, 10, 9}}, 6);
  DeviceSpec gpu = test::host_sim_spec();
  gpu.accelerator.tf32_flops_per_second = 4e12;
  gpu.accelerator.bf16_flops_per_second = 1e13;
  const auto in = [&](std::int64_t bytes, const SubLayerRules& rules) {
    return fastest(conv, {&test::sim_conv_matrix()}, gpu, {0, much, bytes}, endless, rules);
  };
  EXPECT_FALSE(in(much, {Precision::fp32, &test::sim_reorder()}));
  EXPECT_FALSE(in(much, {Precision::bf16, nullptr}));
  int summed = 0;  // over parts of f
  int in_bf16 = 0;
  for (std::int64_t bytes = 1 << 16; bytes >= 1 << 11; bytes -= 1 << 8) {
    const Result<DividedOption> tf32 = in(bytes, {Precision::tf32, &test::sim_reorder()});
    if (tf32) {
      EXPECT_EQ(tf32->choice.in, last_f32);
    }
    const Result<DividedOption> option = in(bytes, {Precision::bf16, &test::sim_reorder()});
    if (!option) continue;
    const Estimate& estimate = option->estimate;
    EXPECT_EQ(option->choice.reorder, &test::sim_reorder());
    EXPECT_EQ(estimate.in, planar_f32);
    EXPECT_EQ(estimate.out, planar_f32);
    const Estimate again = hybrid::describe_divided(conv, option->choice, gpu).value();
    EXPECT_EQ(estimate.time, again.time);
    EXPECT_EQ(estimate.memory, again.memory);
    const bool bf16 = option->choice.in == last_bf16;
    EXPECT_FALSE(bf16 && option->choice.division.f < 4) << "sums over parts would be rounded";
    in_bf16 += bf16 ? 1 : 0;
    summed += option->choice.division.f < 4 ? 1 : 0;
  }
  EXPECT_GT(in_bf16, 0);
  EXPECT_GT(summed, 0);
}

TEST(DivisionSearch, TakesPartsOfWhatIsRefusedAsAWhole) {
  const ConvProblem conv = conv_of({1, 8, {24, 12, 12}}, 8);
  const DeviceSpec gpu = test::host_sim_spec();
  ASSERT_FALSE(describe_small(conv, gpu));
  const DividedOption option = fastest(conv, {&small_conv}, gpu).value();
  EXPECT_LE(option.choice.division.f, 4);
  EXPECT_LE(option.choice.division.slab + 2, 2000 / 144);
  EXPECT_EQ(option.estimate.time, hybrid::describe_divided(conv, option.choice, gpu)->time);
}

// Describes nothing: then no sub-layer is asked for again.
Result<std::vector<Estimate>> describe_nothing(const LayerProblem& problem, const DeviceSpec&) {
  asked_for.push_back(problem);
  return Error{ErrorCode::unsupported, "is not for this library"};
}
constinit const Primitive no_conv{"sim.no_conv", 1, DeviceKind::gpu, describe_nothing, nullptr, min_of_slow};

TEST(DivisionSearch, SaysThatNothingTakesParts) {
  const ConvProblem conv = conv_of({1, 1, {4, 64, 64}}, 1);
  const DeviceSpec gpu = test::host_sim_spec();
  asked_for.clear();
  const Result<DividedOption> none = fastest(conv, {&small_conv, &no_conv}, gpu);
  EXPECT_THAT(none.error().message, HasSubstr("no primitive of the GPU computes conv 1x1x4x64x64"));
  EXPECT_EQ(asked_for.size(), 2U) << "the whole and the smallest";
}

TEST(SpaceBytes, AddsAndCompares) {
  const SpaceBytes a{1, 2, 3};
  EXPECT_EQ(a.plus({10, 20, saturated}), (SpaceBytes{11, 22, saturated}));
  EXPECT_TRUE(a.covers({1, 2, 3}));
  EXPECT_FALSE(a.covers({1, 3, 3}));
  EXPECT_EQ(to_string(SpaceBytes{1 << 30, 2 << 20, 3}), "host 1.00 GiB, pinned 2.00 MiB, device 3 B");
}

}  // namespace
}  // namespace znni
