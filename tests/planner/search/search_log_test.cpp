#include "planner/search/search_log.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "planner/search/candidates.hpp"
#include "tests/planner/drawn_primitives.hpp"

namespace znni {
namespace {

TEST(PlannerSearchLog, HasEveryEstimateAndEveryRefusalOfEveryNode) {
  const Network network = drawn::chain();
  const Catalogue catalogue = drawn::catalogue();
  const DeviceSpec spec;
  const std::unique_ptr<CostSource> costs = modelled_costs();
  SearchOptions options;
  options.max_extent = 12;
  GeometrySearch searcher(network, spec, catalogue, *costs, options,
                          std::vector<const Primitive*>(network.nodes.size(), nullptr));
  const std::optional<FoundRung> found = searcher.best(make_candidates(network, options), {});
  ASSERT_TRUE(found);
  SearchLog log;
  log_choices(network, *found, spec, catalogue, *costs, log);
  std::size_t estimates = 0;
  for (const LayerProblem& problem : found->geometry.problems) {
    for (const Primitive* primitive : catalogue.primitives()) {
      const auto described = primitive->describe(problem, spec);
      estimates += described ? described->size() : 0;
    }
  }
  EXPECT_EQ(log.choices.size(), estimates);
  EXPECT_TRUE(std::is_sorted(log.choices.begin(), log.choices.end(),
                             [](const auto& a, const auto& b) { return a.node < b.node; }));
  std::vector<int> chosen;
  for (const SearchLog::Choice& choice : log.choices) {
    EXPECT_GT(choice.bytes, 0);
    if (choice.chosen) chosen.push_back(choice.node);
  }
  EXPECT_EQ(chosen, (std::vector<int>{0, 1, 2, 3, 4}));
  // Each convolution is refused by drawn.rest and drawn.reorder; the others by all but drawn.rest; conv3 also by
  // drawn.conv.b.
  EXPECT_EQ(log.refusals.size(), 3U * 2U + 2U * 3U + 1U);
}

}  // namespace
}  // namespace znni
