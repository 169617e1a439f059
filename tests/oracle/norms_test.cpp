#include "tests/oracle/norms.hpp"

#include <gtest/gtest.h>

#include <cmath>

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

// Scores of token 0 are 0 and log 3, of token 1 the same twice: shares of 1/4 and 3/4, and of 1/10 and 9/10.
TEST(OracleNorms, AttentionSharesValues) {
  const AttentionProblem problem{{1, 1, {1, 1, 2}}, 2, 1, 0.5F};
  const std::vector<Values> inputs = {{2, 4}, {0, std::log(3.0)}, {4, 8, 10, 20}};
  const Values out = attended(problem, inputs);
  const double exact[] = {7, 7.6, 17.5, 19};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(out[i], exact[i], 1e-12) << i;
}

// Equal keys make means; each head has its own values.
TEST(OracleNorms, HeadsAttendByThemselves) {
  const AttentionProblem problem{{2, 2, {1, 1, 2}}, 2, 2};
  const Values zeros(8, 0.0);
  const std::vector<Values> inputs = {zeros, zeros, {1, 3, 5, 9, -2, 2, 7, 7}};
  EXPECT_EQ(attended(problem, inputs), (Values{2, 2, 7, 7, 0, 0, 7, 7}));
}

}  // namespace
}  // namespace znni::oracle
