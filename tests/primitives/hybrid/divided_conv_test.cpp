#include "primitives/hybrid/divided_conv.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "primitives/core/precision.hpp"
#include "tests/support/host_sim.hpp"
#include "tests/support/sim_primitives.hpp"

namespace znni::hybrid {
namespace {

using testing::HasSubstr;

DividedChoice choice_of(const Division& division, bool staged = true) {
  return {&test::sim_conv(), {}, {}, {}, division, staged};
}

std::int64_t bytes_of(const Estimate& estimate, std::string_view name) {
  const auto found = std::find_if(estimate.memory.begin(), estimate.memory.end(),
                                  [&](const Buffer& buffer) { return buffer.name == name; });
  return found == estimate.memory.end() ? -1 : found->bytes;
}

const ConvProblem whole_conv{.in = {4, 6, {16, 8, 8}}, .f_out = 6, .k = {3, 3, 3}, .activation = {}};

TEST(DescribeDivided, DeclaresTwoSlotsOfEachPartAndTensorsInHostMemory) {
  const Estimate estimate = describe_divided(whole_conv, choice_of({1, 0, 3, 5}), test::host_sim_spec()).value();
  const std::int64_t in = 6 * 7 * 64 * 4;
  const std::int64_t out = round_up(3 * 5 * 36 * 4, 64);
  EXPECT_EQ(bytes_of(estimate, "inputs"), 2 * in);
  EXPECT_EQ(bytes_of(estimate, "staged inputs"), 2 * in);
  EXPECT_EQ(bytes_of(estimate, "outputs"), 2 * out);
  EXPECT_EQ(bytes_of(estimate, "partial sums"), -1);
  EXPECT_EQ(bytes_of(estimate, "gathered kernels"), -1);
  EXPECT_EQ(peak(estimate.memory, MemorySpace::host),
            tensor_bytes(whole_conv.in, {}) + tensor_bytes(output_shape(whole_conv), {}));
  EXPECT_EQ(peak(estimate.memory, MemorySpace::pinned), 2 * (in + out));
  EXPECT_EQ(bytes_of(estimate, "sub-layer 1.0/kernels"), 3 * 6 * 27 * 4);
  EXPECT_GT(bytes_of(estimate, "scratch"), 0);
}

TEST(DescribeDivided, KeepsPartialSumsOnTheDevice) {
  const std::int64_t out = round_up(6 * 14 * 36 * 4, 64);
  const Estimate two = describe_divided(whole_conv, choice_of({1, 3, 0, 0}), test::host_sim_spec()).value();
  EXPECT_EQ(bytes_of(two, "partial sums"), out);
  EXPECT_EQ(bytes_of(two, "gathered kernels"), 6 * 6 * 27 * 4);
  const Estimate three = describe_divided(whole_conv, choice_of({1, 2, 0, 0}), test::host_sim_spec()).value();
  EXPECT_EQ(bytes_of(three, "partial sums"), 2 * out);
}

TEST(DescribeDivided, WithoutStagingTensorsArePinned) {
  const Estimate estimate = describe_divided(whole_conv, choice_of({1, 0, 0, 0}, false), test::host_sim_spec()).value();
  EXPECT_EQ(peak(estimate.memory, MemorySpace::host), 0);
  EXPECT_EQ(bytes_of(estimate, "staged inputs"), -1);
  EXPECT_EQ(peak(estimate.memory, MemorySpace::pinned),
            tensor_bytes(whole_conv.in, {}) + tensor_bytes(output_shape(whole_conv), {}));
}

TEST(DescribeDivided, OfOnePartHasOneSlot) {
  const Estimate estimate = describe_divided(whole_conv, choice_of({}), test::host_sim_spec()).value();
  EXPECT_EQ(bytes_of(estimate, "inputs"), tensor_bytes(whole_conv.in, {}));
}

// Sub-layers are transferred planar; the GPU has memory for one in bf16, and the time includes its reorders.
TEST(DescribeDivided, CountsWhatReordersOfPartsTake) {
  DeviceSpec gpu = test::host_sim_spec();
  gpu.accelerator.bf16_flops_per_second = 1e13;
  DividedChoice choice{&test::sim_conv_matrix(), {}, last_bf16, last_bf16, {1, 0, 3, 5}, true, &test::sim_reorder()};
  const Estimate estimate = describe_divided(whole_conv, choice, gpu).value();
  EXPECT_EQ(estimate.in, planar_f32);
  EXPECT_EQ(estimate.out, planar_f32);
  EXPECT_EQ(bytes_of(estimate, "inputs"), 2 * 6 * 7 * 64 * 4);
  const std::int64_t reordered_in = round_up(6 * 7 * 64 * 2, buffer_alignment);
  EXPECT_EQ(bytes_of(estimate, "scratch"), reordered_in + round_up(3 * 5 * 36 * 2, buffer_alignment));
  EXPECT_EQ(bytes_of(estimate, "sub-layer 1.0/kernels"), 3 * 6 * 27 * 2);
  const SubLayers sublayers = divide(whole_conv, choice.division).value();
  const InnerEstimates inner = inner_estimates(sublayers, choice, gpu).value();
  gpu.bytes_per_second /= 2;
  const InnerEstimates slower = inner_estimates(sublayers, choice, gpu).value();
  const double moved = static_cast<double>(6 * 7 * 64 + 3 * 5 * 36) * (4 + 2);
  EXPECT_NEAR(slower.sublayers()[0].time - inner.sublayers()[0].time, moved / (2 * gpu.bytes_per_second), 1e-12);
  choice.reorder = nullptr;
  EXPECT_THAT(describe_divided(whole_conv, choice, gpu).error().message, HasSubstr("cannot be cut in f or f_out"));
}

// The first sub-layer of a sum may be computed in another way than the last.
TEST(DescribeDivided, SpreadsErrorsAsFarAsAnyOfItsParts) {
  const DividedChoice choice = choice_of({1, 3, 0, 0});
  const SubLayers sublayers = divide(whole_conv, choice.division).value();
  InnerEstimates inner = inner_estimates(sublayers, choice, test::host_sim_spec()).value();
  ASSERT_EQ(inner.of.size(), 2U);
  inner.of[0].spread = {1, 0, 5};
  inner.of[1].spread = {0, 4, 2};
  EXPECT_EQ(divided_estimate(sublayers, inner, choice, test::host_sim_spec()).spread, (Vec3{1, 4, 5}));
}

// No GPU library takes such an input as a whole (2^31 elements and more), but its slabs are small.
TEST(DescribeDivided, TakesChannelsOfAnySize) {
  const ConvProblem huge{.in = {1, 80, {900, 900, 900}}, .f_out = 80, .k = {5, 5, 5}, .activation = {}};
  const Estimate estimate = describe_divided(huge, choice_of({0, 0, 0, 2}), test::host_sim_spec()).value();
  EXPECT_LT(peak(estimate.memory, MemorySpace::device), std::int64_t{6} << 30);
  EXPECT_GT(peak(estimate.memory, MemorySpace::host), std::int64_t{400} << 30);
  EXPECT_GT(estimate.time, 1e3);
}

TEST(DescribeDivided, RefusesInWords) {
  DividedChoice cut_channels = choice_of({0, 3, 0, 0});
  cut_channels.in = cut_channels.out = {ElementType::f32, Layout::channels_last};
  EXPECT_THAT(describe_divided(whole_conv, cut_channels, test::host_sim_spec()).error().message,
              HasSubstr("f32:channels_last cannot be cut in f or f_out"));
  DeviceSpec gpu = test::host_sim_spec();
  gpu.accelerator.bf16_flops_per_second = 1e13;
  const DividedChoice sums{&test::sim_conv_matrix(), {}, last_bf16, last_bf16, {0, 3, 0, 0}, true,
                           &test::sim_reorder()};
  EXPECT_THAT(describe_divided(whole_conv, sums, gpu).error().message,
              HasSubstr("parts of f would be rounded to bf16"));
  DividedChoice blocked = choice_of({});
  blocked.in = blocked.out = {ElementType::f32, Layout::blocked8};
  EXPECT_THAT(describe_divided(whole_conv, blocked, test::host_sim_spec()).error().message, HasSubstr("cannot be cut"));
  DividedChoice other = choice_of({});
  other.variant = {{"tile", 3}};
  EXPECT_THAT(describe_divided(whole_conv, other, test::host_sim_spec()).error().message,
              HasSubstr("has no variant 'tile=3'"));
  EXPECT_FALSE(describe_divided(whole_conv, choice_of({9, 0, 0, 0}), test::host_sim_spec()));
}

TEST(DividedSeconds, AreTheLongestStreamAndBothEnds) {
  const SubLayers sublayers = divide(whole_conv, {1, 0, 0, 7}).value();
  ASSERT_EQ(sublayers.sums(), 8);
  EXPECT_DOUBLE_EQ(divided_seconds(sublayers, {.compute = 5, .upload = 1, .download = 2}).total, 8 * 5 + 1 + 2);
  EXPECT_DOUBLE_EQ(divided_seconds(sublayers, {.compute = 1, .upload = 5, .download = 2}).total, 8 * 5 + 1 + 2);
  EXPECT_DOUBLE_EQ(divided_seconds(sublayers, {.compute = 1, .upload = 2, .download = 5}).total, 8 * 5 + 1 + 2);
  const DividedSeconds staged =
      divided_seconds(sublayers, {.compute = 1, .upload = 1, .download = 1, .stage_in = 3, .stage_out = 4});
  EXPECT_DOUBLE_EQ(staged.staging, 56);
  EXPECT_DOUBLE_EQ(staged.total, 56 + 3);
  EXPECT_DOUBLE_EQ(divided_seconds(sublayers, {.compute = 1, .duplex = 100}).total, 100);
}

}  // namespace
}  // namespace znni::hybrid
