#include "planner/divisions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/support/host_sim.hpp"
#include "tests/support/random.hpp"
#include "tests/support/sim_primitives.hpp"

namespace znni {
namespace {

using testing::HasSubstr;

const hybrid::DividedChoice by_sim{&test::sim_conv(), {}, {}, {}, {}, true};

ConvProblem conv_of(const Shape5& in, std::int64_t f_out) {
  return {.in = in, .f_out = f_out, .k = {3, 3, 3}, .activation = {}};
}

// Of one primitive, however long they take.
Result<std::vector<DividedOption>> good_divisions(const ConvProblem& conv, const Primitive& inner,
                                                  const DeviceSpec& gpu) {
  std::vector<DividedOption> good;
  const Result<void> added = add_good_divisions(conv, inner, gpu, std::numeric_limits<Seconds>::infinity(), good);
  if (!added) return added.error();
  put_fastest_first(good);
  return good;
}

// Parts overlap with copies: a layer that fits as a whole is still faster in parts.
TEST(BestDivision, IsNeverSlowerThanTheWhole) {
  const ConvProblem conv = conv_of({1, 8, {24, 24, 24}}, 8);
  const DeviceSpec gpu = test::host_sim_spec();
  const DividedOption option =
      best_division(conv, good_divisions(conv, test::sim_conv(), gpu).value(), {0, 1 << 28, 1 << 28}).value();
  EXPECT_LT(option.estimate.time, hybrid::describe_divided(conv, by_sim, gpu)->time);
}

TEST(GoodDivisions, AreNotBetteredByEachOtherAndComeFastestFirst) {
  const ConvProblem conv = conv_of({2, 4, {12, 10, 9}}, 6);
  const std::vector<DividedOption> good = good_divisions(conv, test::sim_conv(), test::host_sim_spec()).value();
  EXPECT_GT(good.size(), 2U);
  for (std::size_t i = 1; i < good.size(); ++i) {
    EXPECT_GE(good[i].estimate.time, good[i - 1].estimate.time);
    const SpaceBytes a = bytes_of(good[i].estimate.memory);
    const SpaceBytes b = bytes_of(good[i - 1].estimate.memory);
    EXPECT_TRUE(a.device < b.device || a.pinned < b.pinned);
  }
}

// Divisions that are not described because they could not win: none of them would have.
TEST(GoodDivisions, AreAllThatNothingBetters) {
  test::Random random(test::base_seed() + 7);
  for (int i = 0; i < test::case_count(10); ++i) {
    const ConvProblem conv = conv_of({random.integer(1, 3), 4, {random.integer(4, 12), 9, 8}}, random.integer(1, 6));
    DeviceSpec gpu = test::host_sim_spec();
    gpu.accelerator.staging_bytes_per_second = random.chance(0.5) ? 1e6 : 1e12;
    const std::vector<DividedOption> good = good_divisions(conv, test::sim_conv(), gpu).value();
    for (std::int64_t f = 1; f <= conv.in.f; f *= 2) {
      for (std::int64_t f_out = 1; f_out <= conv.f_out; ++f_out) {
        for (std::int64_t slab = 1; slab <= conv.in.n.z - 2; ++slab) {
          hybrid::DividedChoice one = by_sim;
          one.division = {conv.in.S, f, f_out, slab};
          const auto halved = [](std::int64_t part, std::int64_t all) {
            while (all > part) all = div_up(all, 2);
            return all == part;
          };
          if (!halved(f_out, conv.f_out) || !halved(slab, conv.in.n.z - 2)) continue;
          const Estimate estimate = hybrid::describe_divided(conv, one, gpu).value();
          SpaceBytes use = bytes_of(estimate.memory);
          use.host = 0;
          EXPECT_TRUE(std::any_of(good.begin(), good.end(), [&](const DividedOption& other) {
            return other.estimate.time <= estimate.time && use.covers(other.use);
          })) << to_string(use);
        }
      }
    }
  }
}

// Only those that take less.
TEST(GoodDivisions, LeaveOutWhatTakesTooLong) {
  const ConvProblem conv = conv_of({2, 4, {12, 10, 9}}, 6);
  const DeviceSpec gpu = test::host_sim_spec();
  const std::vector<DividedOption> all = good_divisions(conv, test::sim_conv(), gpu).value();
  const Seconds below = all[all.size() / 2].estimate.time;
  std::vector<DividedOption> good;
  ASSERT_TRUE(add_good_divisions(conv, test::sim_conv(), gpu, below, good));
  put_fastest_first(good);
  ASSERT_EQ(good.size(), static_cast<std::size_t>(std::count_if(
                             all.begin(), all.end(), [&](const auto& one) { return one.estimate.time < below; })));
  for (std::size_t i = 0; i < good.size(); ++i) {
    EXPECT_EQ(good[i].choice.division, all[i].choice.division);
    EXPECT_EQ(good[i].use, all[i].use);
    EXPECT_EQ(good[i].choice.inner, &test::sim_conv());
  }
  good.clear();
  const Result<void> none = add_good_divisions(conv, test::sim_conv(), gpu, 0, good);
  EXPECT_THAT(none.error().message, HasSubstr("slower than another patch"));
}

TEST(BestDivision, FitsAnyBudgetThatCanBeMetAndLessMemoryIsNeverFaster) {
  test::Random random(test::base_seed());
  for (int i = 0; i < test::case_count(10); ++i) {
    const ConvProblem conv = conv_of({random.integer(1, 4), 4, {12, 10, 9}}, random.integer(2, 8));
    const std::vector<DividedOption> good = good_divisions(conv, test::sim_conv(), test::host_sim_spec()).value();
    Seconds before = 0;
    for (std::int64_t device = 1 << 20; device >= 1 << 12; device /= 2) {
      const SpaceBytes budget{0, device, device};
      const Result<DividedOption> option = best_division(conv, good, budget);
      if (!option) {
        EXPECT_EQ(option.error().code, ErrorCode::over_budget);
        EXPECT_THAT(option.error().message, HasSubstr("in sub-layers needs at least"));
        break;
      }
      SpaceBytes use = bytes_of(option->estimate.memory);
      use.host = 0;
      EXPECT_TRUE(budget.covers(use)) << to_string(use);
      EXPECT_GE(option->estimate.time, before);
      before = option->estimate.time;
    }
  }
}

// What the simulated GPU's convolution does, for tensors of up to 2000 voxels and six images alone.
Result<std::vector<Estimate>> describe_small(const LayerProblem& problem, const DeviceSpec& spec) {
  const Shape5 in = input_shape(problem, 0);
  if (in.f <= 6 && voxels(in.n) <= 2000) return test::sim_conv().describe(problem, spec);
  return Error{ErrorCode::unsupported, "is too large"};
}
constinit const Primitive small_conv{"sim.small_conv", 1, DeviceKind::gpu, describe_small, nullptr};

// And a faster variant in TF32, which is not float32.
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

TEST(GoodDivisions, TakeProductsInTf32OnlyWhereAllowed) {
  const ConvProblem conv = conv_of({1, 4, {12, 10, 9}}, 6);
  const std::vector<DividedOption> good = good_divisions(conv, rounded_conv, test::host_sim_spec()).value();
  EXPECT_FALSE(good.empty());
  for (const DividedOption& option : good) EXPECT_EQ(setting(option.estimate.variant, "tf32", 0), 0);
  std::vector<DividedOption> rounded;
  ASSERT_TRUE(add_good_divisions(conv, rounded_conv, test::host_sim_spec(), std::numeric_limits<Seconds>::infinity(),
                                 rounded, {Precision::tf32, nullptr}));
  put_fastest_first(rounded);
  EXPECT_EQ(setting(rounded.front().estimate.variant, "tf32", 0), 1);
  EXPECT_LT(rounded.front().estimate.time, good.front().estimate.time);
}

// Matrix units take other formats than that in which parts travel.
TEST(GoodDivisions, AreReorderedWhereThePrecisionAllowsTheFormat) {
  const ConvProblem conv = conv_of({2, 4, {12, 10, 9}}, 6);
  DeviceSpec gpu = test::host_sim_spec();
  gpu.accelerator.tf32_flops_per_second = 4e12;
  gpu.accelerator.bf16_flops_per_second = 1e13;
  const auto good = [&](const PartRules& rules) {
    std::vector<DividedOption> all;
    (void)add_good_divisions(conv, test::sim_conv_matrix(), gpu, std::numeric_limits<Seconds>::infinity(), all, rules);
    return all;
  };
  EXPECT_TRUE(good({Precision::fp32, &test::sim_reorder()}).empty());
  EXPECT_TRUE(good({Precision::bf16, nullptr}).empty());
  for (const DividedOption& option : good({Precision::tf32, &test::sim_reorder()})) {
    EXPECT_EQ(option.choice.in, last_f32);
  }
  int summed = 0;  // over parts of f
  int in_bf16 = 0;
  for (const DividedOption& option : good({Precision::bf16, &test::sim_reorder()})) {
    const Estimate& estimate = option.estimate;
    EXPECT_EQ(option.choice.reorder, &test::sim_reorder());
    EXPECT_EQ(estimate.in, planar_f32);
    EXPECT_EQ(estimate.out, planar_f32);
    const Estimate again = hybrid::describe_divided(conv, option.choice, gpu).value();
    EXPECT_EQ(estimate.time, again.time);
    EXPECT_EQ(estimate.memory, again.memory);
    const bool bf16 = option.choice.in == last_bf16;
    EXPECT_FALSE(bf16 && option.choice.division.f < 4) << "sums over parts would be rounded";
    in_bf16 += bf16 ? 1 : 0;
    summed += option.choice.division.f < 4 ? 1 : 0;
  }
  EXPECT_GT(in_bf16, 0);
  EXPECT_GT(summed, 0);
}

TEST(GoodDivisions, ArePartsOfWhatIsRefusedAsAWhole) {
  const ConvProblem conv = conv_of({1, 8, {24, 12, 12}}, 8);
  const DeviceSpec gpu = test::host_sim_spec();
  ASSERT_FALSE(describe_small(conv, gpu));
  EXPECT_TRUE(takes_parts(conv, small_conv, gpu));
  const std::vector<DividedOption> good = good_divisions(conv, small_conv, gpu).value();
  for (const DividedOption& option : good) {
    EXPECT_LE(option.choice.division.f, 4);
    EXPECT_LE(option.choice.division.slab + 2, 2000 / 144);
    EXPECT_EQ(option.estimate.time, hybrid::describe_divided(conv, option.choice, gpu)->time);
  }
}

TEST(GoodDivisions, RepeatThePrimitivesOwnReason) {
  const ConvProblem conv = conv_of({1, 1, {4, 64, 64}}, 1);
  EXPECT_FALSE(takes_parts(conv, small_conv, test::host_sim_spec()));
  EXPECT_THAT(good_divisions(conv, small_conv, test::host_sim_spec()).error().message,
              HasSubstr("sim.small_conv of conv 1x1x3x64x64 -> 1, k 3x3x3: is too large"));
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
