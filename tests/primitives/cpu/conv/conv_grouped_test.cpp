#include <gtest/gtest.h>

#include "tests/support/cpu.hpp"

namespace znni::cpu {
extern const Primitive conv_grouped;

namespace {

TEST(ConvGrouped, MatchesTheOracleOnRandomProblems) {
  test::check_random(conv_grouped, 60, [](test::Random& random) { return test::random_grouped_conv(random); });
}

// Rows shorter than a vector, of exactly one, of every remainder; of one channel per group and of more than a block.
TEST(ConvGrouped, MatchesTheOracleForEveryRowLength) {
  const std::unique_ptr<Device> device = test::open_cpu(3);
  for (std::int64_t x = 1; x <= 50; ++x) {
    ConvProblem conv{.in = {1, 6, {2, 2, x + 2}}, .f_out = x % 2 == 0 ? 6 : 15, .k = {1, 2, 3}, .activation = {}};
    conv.groups = x % 2 == 0 ? 6 : 3;
    test::check_primitive(conv_grouped, conv, *device, static_cast<std::uint64_t>(x));
    conv.stride = {1, 2, 2};
    test::check_primitive(conv_grouped, conv, *device, static_cast<std::uint64_t>(x));
  }
}

TEST(ConvGrouped, HoldsItsPackedKernels) {
  ConvProblem conv{.in = {1, 6, {4, 4, 20}}, .f_out = 3, .k = {2, 2, 2}, .activation = {}};
  conv.groups = 3;
  const std::vector<Estimate> estimates = conv_grouped.describe(conv, describe_cpu(2)).value();
  ASSERT_EQ(estimates.size(), 1U);
  EXPECT_EQ(estimates[0].in, Format{});
  EXPECT_EQ(estimates[0].out, Format{});
  // Rows of 19 voxels: blocks of 4 channels, of which each group fills one.
  EXPECT_EQ(persistent_bytes(estimates[0].memory), 3 * (4 * 2 * 8 + 4) * 4);
}

TEST(ConvGrouped, RefusesConvolutionsWithoutGroups) {
  test::expect_refusal(conv_grouped, ConvProblem{.in = {1, 2, {3, 3, 3}}, .activation = {}},
                       "cpu.conv.grouped computes convolutions with groups");
}

}  // namespace
}  // namespace znni::cpu
