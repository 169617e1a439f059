#include "planner/split_streams.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/planner/drawn_primitives.hpp"

namespace znni {
namespace {

using Edges = std::map<std::int64_t, std::set<std::int64_t>>;  // by new planes a step

// What is tried where squares of up to `fitting` fit.
Edges tried(const Network& network, const SearchOptions& options, std::int64_t fitting) {
  Edges edges;
  try_streams(network, options, [&](const GeometryChoice& choice) {
    EXPECT_TRUE(make_geometry(network, choice)) << make_geometry(network, choice).error().message;
    EXPECT_EQ(choice.pass_input.y, choice.pass_input.x);
    EXPECT_TRUE(edges[choice.pass_input.z].insert(choice.pass_input.y).second) << "tried twice";
    return choice.pass_input.y <= fitting;
  });
  return edges;
}

class PlannerSplitStreams : public testing::Test {
 protected:
  PlannerSplitStreams() { options_.most_extent = 200; }

  Network network_ = drawn::chain(3);
  std::vector<PoolingMode> modes_{pooling_nodes(network_).size(), PoolMode::fragments};
  SearchOptions options_;
};

TEST_F(PlannerSplitStreams, OfEveryThicknessTheLargestSquareThatFits) {
  const std::int64_t stride = reaches(network_).back().stride.z;
  const std::vector<std::int64_t> legal = legal_extents(network_, modes_, 2, options_.most_extent);
  for (const std::int64_t fitting : {legal.front() - 1, legal.front(), legal[7] + 1, legal.back()}) {
    const auto beyond = std::upper_bound(legal.begin(), legal.end(), fitting);
    const Edges edges = tried(network_, options_, fitting);
    EXPECT_EQ(edges.size(), 5U);
    for (std::int64_t strides = 2; strides <= 32; strides *= 2) {
      const std::set<std::int64_t>& own = edges.at(strides * stride);
      EXPECT_TRUE(beyond == legal.begin() || own.contains(*(beyond - 1))) << fitting;
      EXPECT_TRUE(beyond == legal.end() || own.contains(*beyond)) << fitting;
      EXPECT_LE(own.size(), 9U);
    }
  }
}

TEST_F(PlannerSplitStreams, NoneThatTheVolumeDoesNotFill) {
  const Reach reach = reaches(network_).back();
  options_.volume = Vec3{8 * reach.stride.z, 41, 50};
  const Edges edges = tried(network_, options_, 1000);
  EXPECT_EQ(edges.size(), 3U);  // 2, 4 and 8 strides
  for (const auto& [planes, own] : edges) {
    EXPECT_GE(*own.rbegin(), 50);
    EXPECT_LT(*own.rbegin(), 50 + reach.stride.x);
  }
}

TEST_F(PlannerSplitStreams, NoneWherePatchesAloneAreAskedForOrThereIsNoDepth) {
  options_.strategy = Strategy::patches;
  EXPECT_TRUE(tried(network_, options_, 1000).empty());
  options_.strategy = Strategy::cpu;
  network_.spatial_rank = 2;
  EXPECT_TRUE(tried(network_, options_, 1000).empty());
}

}  // namespace
}  // namespace znni
