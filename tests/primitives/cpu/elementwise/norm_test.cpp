#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/cpu.hpp"

namespace znni::cpu {
extern const Primitive norm;

namespace {

using enum Layout;

TEST(Norm, MatchesTheOracleOnRandomProblems) {
  test::check_random(norm, 40, [](test::Random& random) { return test::random_norm(random); });
}

// Rows of less than a vector, of whole ones and with a rest; groups that begin within a block.
TEST(Norm, MatchesTheOracleForEveryRowLengthAndGroup) {
  const std::unique_ptr<Device> device = test::open_cpu();
  for (const std::int64_t x : {1, 7, 16, 33, 150}) {
    for (const std::int64_t groups : {1, 2, 4, 20}) {
      for (const NormKind kind : {NormKind::deviation, NormKind::response}) {
        const NormProblem problem{{2, 20, {2, 3, x}}, groups, 1e-5F, {}, kind};
        test::check_primitive(norm, problem, *device, static_cast<std::uint64_t>(x));
      }
    }
  }
}

TEST(Norm, MatchesTheOracleWithManyWorkers) {
  const std::unique_ptr<Device> device = test::open_cpu(9);
  for (const Shape5& shape : {Shape5{1, 1, {3, 3, 5}}, Shape5{3, 20, {5, 4, 5}}}) {
    test::check_primitive(norm, NormProblem{shape, shape.f, 1e-5F, {ActivationKind::sigmoid, 0}}, *device, 1);
  }
}

// Returns what the planar way makes of `values`, in one group of unit scale.
std::vector<float> normalised(const std::vector<float>& values, int workers) {
  const std::unique_ptr<Device> device = test::open_cpu(workers);
  const NormProblem problem{{1, 1, {4, 5, static_cast<std::int64_t>(values.size()) / 20}}};
  const Estimate planar = norm.describe(problem, device->spec()).value()[0];
  const float one = 1;
  const float zero = 0;
  const LayerWeights weights{{}, {}, {&one, 1}, {&zero, 1}};
  const std::vector<std::vector<float>> inputs = {values};
  return test::run_once(norm, problem, planar, weights, inputs, *device).values;
}

TEST(Norm, IsTheSameForAnyNumberOfWorkers) {
  test::Random random(test::base_seed());
  const std::vector<float> values = random.normals(20 * 37);
  EXPECT_EQ(normalised(values, 1), normalised(values, 3));
}

// The mean is a thousand times the deviation: sums of squares in float32 would leave nothing of the variance.
TEST(Norm, TakesAMeanFarFromZeroAway) {
  test::Random random(test::base_seed());
  std::vector<float> values = random.normals(20 * 64);
  double mean = 0;
  for (float& value : values) value += 1000;
  for (const float value : values) mean += static_cast<double>(value) / static_cast<double>(values.size());
  double variance = 0;
  for (const float value : values) {
    variance += std::pow(static_cast<double>(value) - mean, 2) / static_cast<double>(values.size());
  }
  const std::vector<float> found = normalised(values, 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double exact = (static_cast<double>(values[i]) - mean) / std::sqrt(variance + 1e-5);
    ASSERT_NEAR(found[i], exact, 1000 * 0x1p-22) << i;
  }
}

TEST(Norm, ANormalisationOfEqualVoxelsGivesTheShift) {
  for (const float value : normalised(std::vector<float>(40, 0.7F), 1)) EXPECT_EQ(value, 0);
}

TEST(Norm, ReadsAndWritesBothLayouts) {
  const NormProblem problem{{1, 6, {4, 4, 4}}, 3};
  EXPECT_EQ(test::offered_layouts(norm, problem, 16), (std::vector{planar, blocked16}));
  EXPECT_EQ(test::offered_layouts(norm, problem, 8), (std::vector{planar, blocked8}));
}

TEST(Norm, RefusesOtherKindsOfLayer) {
  test::expect_refusal(norm, AcrossChannelsProblem{{1, 2, {3, 3, 3}}},
                       "cpu.norm computes instance, group and response normalisations");
}

}  // namespace
}  // namespace znni::cpu
