#include <gtest/gtest.h>

#include "tests/support/cpu.hpp"

namespace znni::cpu {
extern const Primitive conv_direct;

namespace {

TEST(ConvDirect, MatchesTheOracleOnRandomProblems) {
  test::check_random(conv_direct, 40, [](test::Random& random) { return test::random_conv(random); });
}

TEST(ConvDirect, MatchesTheOracleOnStridedProblems) {
  test::check_random(conv_direct, 30, [](test::Random& random) { return test::random_strided_conv(random); });
}

// Rows shorter than a vector, of exactly one vector, of one voxel more, and every remainder after three vectors.
TEST(ConvDirect, MatchesTheOracleForEveryRowLength) {
  const std::unique_ptr<Device> device = test::open_cpu();
  for (std::int64_t x = 1; x <= 50; ++x) {
    const ConvProblem conv{.in = {1, 2, {2, 2, x + 2}}, .f_out = 5, .k = {1, 2, 3}, .activation = {}};
    test::check_primitive(conv_direct, conv, *device, static_cast<std::uint64_t>(x));
    ConvProblem strided = conv;
    strided.stride = {1, 2, 2};
    test::check_primitive(conv_direct, strided, *device, static_cast<std::uint64_t>(x));
  }
}

TEST(ConvDirect, MatchesTheOracleForEveryNumberOfChannels) {
  const std::unique_ptr<Device> device = test::open_cpu(3);
  for (std::int64_t f_out = 1; f_out <= 18; ++f_out) {
    for (const std::int64_t x : {5, 17}) {
      const ConvProblem conv{.in = {2, 3, {3, 2, x}}, .f_out = f_out, .k = {2, 1, 2}, .activation = {}};
      test::check_primitive(conv_direct, conv, *device, static_cast<std::uint64_t>(f_out));
    }
  }
}

// Groups of output channels depend on cache and threads; results must not.
TEST(ConvDirect, GivesTheSameBitsForAnyNumberOfThreadsAndCacheSize) {
  const ConvProblem conv{.in = {2, 9, {4, 6, 30}}, .f_out = 23, .k = {2, 3, 3}, .activation = {}};
  test::Random random(5);
  const test::Weights weights = test::random_weights(conv, random);
  const auto inputs = test::random_inputs(conv, random);
  std::vector<float> expected;
  for (const std::int64_t l2_bytes : {std::int64_t{1}, std::int64_t{20000}, std::int64_t{1} << 22}) {
    for (const int threads : {1, 2, 5}) {
      DeviceSpec spec = describe_cpu(threads);
      spec.l2_bytes = l2_bytes;
      const std::unique_ptr<Device> device = std::move(backend().open(spec, 1 << 28, 0, 0).value());
      const std::vector<Estimate> estimates = conv_direct.describe(conv, spec).value();
      const test::Outcome outcome =
          test::run_once(conv_direct, conv, estimates[0], weights.view(), inputs, *device, test::Placing::packed, 5);
      if (expected.empty()) expected = outcome.values;
      EXPECT_EQ(outcome.values, expected) << threads << " threads, L2 of " << l2_bytes << " bytes";
    }
  }
}

TEST(ConvDirect, OffersPlanarOnlyAndHoldsItsPackedKernels) {
  const ConvProblem conv{.in = {1, 3, {4, 4, 20}}, .f_out = 6, .k = {2, 2, 2}, .activation = {}};
  const std::vector<Estimate> estimates = conv_direct.describe(conv, describe_cpu(2)).value();
  ASSERT_EQ(estimates.size(), 1U);
  EXPECT_EQ(estimates[0].in, Format{});
  EXPECT_EQ(estimates[0].out, Format{});
  // Rows of 19 voxels: blocks of 4 channels; 6 channels are 2 blocks.
  EXPECT_EQ(persistent_bytes(estimates[0].memory), (8 * 3 * 8 + 8) * 4);
}

TEST(ConvDirect, RefusesOtherKindsOfLayer) {
  test::expect_refusal(conv_direct, AcrossChannelsProblem{{1, 2, {3, 3, 3}}},
                       "cpu.conv.direct computes convolutions without groups");
}

}  // namespace
}  // namespace znni::cpu
