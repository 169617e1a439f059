#include "planner/train/min_sum.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "primitives/core/index.hpp"
#include "tests/support/random.hpp"

namespace znni {
namespace {

using test::Random;

double sum_of(const std::vector<SumTerm>& terms, int choices, const std::vector<int>& chosen) {
  double sum = 0;
  for (const SumTerm& term : terms) {
    std::size_t at = 0;
    for (const int variable : term.variables) at = at * index(choices) + index(chosen[index(variable)]);
    sum += term.values[at];
  }
  return sum;
}

double min_of_all(const std::vector<SumTerm>& terms, int choices, std::vector<int> chosen, std::size_t next = 0) {
  if (next == chosen.size()) return sum_of(terms, choices, chosen);
  double least = std::numeric_limits<double>::infinity();
  for (int choice = 0; choice < choices; ++choice) {
    chosen[next] = choice;
    least = std::min(least, min_of_all(terms, choices, chosen, next + 1));
  }
  return least;
}

SumTerm random_term(int variables, int choices, Random& random) {
  SumTerm term;
  while (term.variables.empty()) {
    for (int i = 0; i < variables; ++i) {
      if (term.variables.size() < 3 && random.chance(0.4)) term.variables.push_back(i);
    }
  }
  const auto entries = static_cast<std::int64_t>(std::pow(choices, term.variables.size()));
  for (std::int64_t i = 0; i < entries; ++i) {
    const bool forbidden = random.chance(0.05);
    term.values.push_back(forbidden ? std::numeric_limits<double>::infinity()
                                    : static_cast<double>(random.integer(0, 100)));
  }
  return term;
}

TEST(LeastSum, IsTheLeastOfAllChoices) {
  for (int i = 0; i < test::case_count(200); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed));
    Random random(seed);
    const int variables = static_cast<int>(random.integer(1, 7));
    const int choices = static_cast<int>(random.integer(1, 3));
    std::vector<SumTerm> terms;
    for (std::int64_t n = random.integer(0, 8); n > 0; --n) terms.push_back(random_term(variables, choices, random));
    const std::optional<std::vector<int>> chosen = min_sum(variables, choices, terms);
    ASSERT_TRUE(chosen);
    ASSERT_EQ(chosen->size(), index(variables));
    EXPECT_EQ(sum_of(terms, choices, *chosen), min_of_all(terms, choices, std::vector<int>(index(variables), 0)));
  }
}

TEST(LeastSum, GivesUpWhereTablesWouldBeTooLarge) {
  const SumTerm together{{0, 1, 2}, std::vector<double>(8, 1.0)};
  EXPECT_TRUE(min_sum(3, 2, {together}, 8));
  EXPECT_FALSE(min_sum(3, 2, {together}, 7));
}

}  // namespace
}  // namespace znni
