#include "tests/oracle/norms.hpp"

#include <gtest/gtest.h>

namespace znni::oracle {
namespace {

TEST(OracleNorms, MomentsOfAPopulation) {
  const Values values = {1, 3, 5, 7};
  const auto [mean, deviation] = moments(values.data(), 4, 4.0);
  EXPECT_EQ(mean, 4);
  EXPECT_EQ(deviation, 3);
}

// Channels 0 and 1, of lengths 5 and 15, are a group: their mean and epsilon are 20. Channel 2 is alone with zeros.
TEST(OracleNorms, ResponsesAreOverTheMeanLengthOfTheGroup) {
  const NormProblem problem{{1, 4, {1, 1, 2}}, 2, 10.0F, {}, NormKind::response};
  const std::vector<float> scale = {4, 4, 2, 1};
  const std::vector<float> shift = {0, 1, 0, 5};
  const Values in = {3, 4, -9, 12, 0, 20, 0, 0};
  EXPECT_EQ(normalised(problem, in, {{}, {}, scale, shift}), (Values{3, 4, -26, 37, 0, 40, 5, 5}));
}

TEST(OracleNorms, ResponsesOfEachInputOfTheBatchAreItsOwn) {
  const NormProblem problem{{2, 1, {1, 1, 2}}, 1, 5.0F, {}, NormKind::response};
  const std::vector<float> one = {1};
  const std::vector<float> zero = {0};
  EXPECT_EQ(normalised(problem, {3, 4, 6, 8}, {{}, {}, one, zero}), (Values{1.5, 2, 4, 16.0 / 3}));
}

}  // namespace
}  // namespace znni::oracle
