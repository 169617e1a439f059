#include "planner/search/looking_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/planner/drawn_primitives.hpp"

namespace znni {
namespace {

TEST(PlannerLookingOrder, HasEveryNumberOnce) {
  for (const std::size_t count : {0, 1, 60, 61, 62, 1000}) {
    std::vector<std::size_t> order = looking_order(count);
    std::vector<std::size_t> all(count);
    std::iota(all.begin(), all.end(), std::size_t{0});
    EXPECT_TRUE(std::is_permutation(order.begin(), order.end(), all.begin(), all.end())) << count;
  }
}

TEST(PlannerLookingOrder, FirstNumbersAreSpreadOverAll) {
  const std::vector<std::size_t> order = looking_order(610);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(order[i], 61 * i);
}

TEST(PlannerLookingOrder, NodesThatTakeLongComeFirst) {
  const Network network = drawn::chain(3);
  const std::vector<PoolingMode> modes(pooling_nodes(network).size(), PoolMode::fragments);
  const Result<Geometry> geometry =
      make_geometry(network, {Vec3::cube(legal_extents(network, modes, 2, 20).back()), 1, modes});
  ASSERT_TRUE(geometry) << geometry.error().message;
  const std::size_t nodes = network.nodes.size();
  for (std::size_t slow = 0; slow < nodes; ++slow) {
    std::vector<Seconds> per_operation(nodes, 1e-9);
    per_operation[slow] = 1;
    std::vector<std::size_t> order = slowest_first(*geometry, {}, per_operation);
    EXPECT_EQ(order.front(), slow);
    std::sort(order.begin(), order.end());
    for (std::size_t i = 0; i < nodes; ++i) EXPECT_EQ(order[i], i);
  }
  std::vector<bool> absent(nodes + 1, false);
  absent[1] = true;
  std::vector<Seconds> per_operation(nodes, 1e-9);
  per_operation[0] = 1;
  const std::vector<std::size_t> in_pairs = slowest_first(*geometry, absent, per_operation);
  EXPECT_EQ(in_pairs.front(), 1U) << "the second of the pair stands for it";
  EXPECT_EQ(in_pairs.back(), 0U) << "the first has nothing to do";
}

TEST(PlannerLookingOrder, RoundsGrowWithWhatIsKnown) {
  EXPECT_EQ(round_size(0), 16U);
  EXPECT_EQ(round_size(800), 100U);
  EXPECT_EQ(round_size(100'000), 256U);
}

}  // namespace
}  // namespace znni
