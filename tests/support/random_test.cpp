#include "tests/support/random.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>

namespace znni::test {
namespace {

TEST(Random, TheSameSeedGivesTheSameProblem) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random a(seed);
    Random b(seed);
    EXPECT_EQ(random_problem(a), random_problem(b));
  }
}

TEST(Random, CasesAreCountedByTheEnvironment) {
  const std::array<const char*, 2> names = {"ZNNI_TEST_CASES", "ZNNI_TEST_CASES_DIVISOR"};
  std::array<std::optional<std::string>, 2> before;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (const char* const text = std::getenv(names[i])) before[i] = text;
    unsetenv(names[i]);
  }
  EXPECT_EQ(case_count(60), 60);
  setenv(names[1], "4", 1);
  EXPECT_EQ(case_count(60), 15);
  EXPECT_EQ(case_count(3), 1);
  setenv(names[0], "7", 1);
  EXPECT_EQ(case_count(60), 7);
  for (std::size_t i = 0; i < names.size(); ++i) {
    before[i] ? setenv(names[i], before[i]->c_str(), 1) : unsetenv(names[i]);
  }
}

TEST(Random, EveryProblemIsLegal) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    const LayerProblem problem = random_problem(random);
    const Result<void> sound = check(problem);
    EXPECT_TRUE(sound.has_value()) << sound.error().message;
  }
}

// The suites test only the variety that they draw.
TEST(Random, ConvolutionsCoverWhatMatters) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    const ConvProblem conv = random_conv(random);
    seen.insert(conv.k == Vec3::cube(1) ? "k = 1" : "k > 1");
    seen.insert(conv.k.x % 2 == 0 ? "even k" : "odd k");
    seen.insert(conv.k.x == conv.k.y ? "square" : "anisotropic");
    seen.insert(conv.dilation == Vec3::cube(1) ? "dense" : "dilated");
    seen.insert(conv.in.S > 1 ? "S > 1" : "S = 1");
    seen.insert(conv.f_out % 16 == 0 ? "blocks" : "rest");
    seen.insert(output_shape(conv).n.x < 8 ? "short rows" : "long rows");
    seen.insert(conv.residual ? "residual" : "alone");
    seen.insert(std::string(to_string(conv.activation.kind)));
    EXPECT_LE(direct_flops(conv), 4e7);
  }
  EXPECT_EQ(seen.size(), 16U + static_cast<std::size_t>(last_activation_kind) + 1U);
}

TEST(Random, StridedConvolutionsCoverWhatMatters) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    const ConvProblem conv = random_strided_conv(random);
    EXPECT_NE(conv.stride, Vec3::cube(1));
    const Vec3 steps = conv.in.n - dilated(conv.k, conv.dilation);
    seen.insert(steps % conv.stride == Vec3{} ? "no rest" : "rest");
    seen.insert(conv.stride.x == 1 ? "whole rows" : "strided rows");
    seen.insert(output_shape(conv).n.x < 8 ? "short rows" : "long rows");
    seen.insert(conv.dilation == Vec3::cube(1) ? "dense" : "dilated");
    seen.insert(conv.residual ? "residual" : "alone");
  }
  EXPECT_EQ(seen.size(), 10U);
}

TEST(Random, UpsamplingsCoverWhatMatters) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    const UpsampleProblem upsample = seed % 2 == 0   ? random_upsample(random)
                                     : seed % 4 == 1 ? random_linear_upsample(random)
                                                     : random_aligned_upsample(random);
    ASSERT_TRUE(check(upsample)) << to_string(LayerProblem(upsample));
    const std::string kind(to_string(upsample.kind));
    seen.insert(kind + (output_shape(upsample).f % 8 == 0 ? ", blocks" : ", rest"));
    seen.insert(kind + (upsample.factor == Vec3::cube(1) ? ", the same" : ", larger"));
  }
  EXPECT_EQ(seen.size(), 16U);
}

TEST(Random, WeightsFitTheirProblem) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const ConvProblem conv = random_conv(random);
    const Weights weights = random_weights(conv, random);
    EXPECT_EQ(static_cast<std::int64_t>(weights.kernels.size()), conv.f_out * conv.in.f * voxels(conv.k));
    EXPECT_TRUE(weights.bias.empty() || static_cast<std::int64_t>(weights.bias.size()) == conv.f_out);
    EXPECT_EQ(static_cast<std::int64_t>(random_inputs(conv, random)[0].size()), elements(conv.in));
  }
}

TEST(Random, NormalsHaveTheDeviationAskedFor) {
  Random random(1);
  double squares = 0.0;
  for (const float value : random.normals(20000, 3.0F)) squares += static_cast<double>(value) * value;
  EXPECT_NEAR(std::sqrt(squares / 20000.0), 3.0, 0.1);
}

}  // namespace
}  // namespace znni::test
