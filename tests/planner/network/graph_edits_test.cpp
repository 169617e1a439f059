#include "planner/network/graph_edits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace znni {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Returns a network whose b, with its reader c, leads nowhere.
LoadedNetwork with_a_dead_end() {
  LoadedNetwork loaded;
  loaded.network.nodes = {{"a", ScaleShift{}, {0}},
                          {"b", ScaleShift{}, {1}},
                          {"c", AcrossChannels{}, {2}},
                          {"d", ScaleShift{}, {1}},
                          {"sum", Add{}, {4, 1, 1}}};
  loaded.weights = {{{}, {}, {1}, {10}}, {{}, {}, {2}, {20}}, {}, {{}, {}, {4}, {40}}, {}};
  return loaded;
}

TEST(PlannerGraphEdits, ReadersAreNamedOncePerInput) {
  const LoadedNetwork loaded = with_a_dead_end();
  EXPECT_THAT(readers_of(loaded.network, 0), ElementsAre(0));
  EXPECT_THAT(readers_of(loaded.network, 1), ElementsAre(1, 3, 4, 4));
  EXPECT_THAT(readers_of(loaded.network, 3), IsEmpty());
  EXPECT_FALSE(is_read_once(loaded.network, 1));
  EXPECT_TRUE(is_read_once(loaded.network, 2));
  EXPECT_FALSE(is_read_once(loaded.network, 3));
}

TEST(PlannerGraphEdits, ReadersOfARemovedNodeReadItsInput) {
  LoadedNetwork loaded = with_a_dead_end();
  remove_node(loaded, 0);
  EXPECT_THAT(describe(loaded.network), ElementsAre("b: scale and shift 1 <- input", "c: softmax 1 <- b",
                                                    "d: scale and shift 1 <- input", "sum: add 1 <- d, input, input"));
  ASSERT_EQ(loaded.weights.size(), 4U);
  EXPECT_THAT(loaded.weights[0].scale, ElementsAre(2));
}

TEST(PlannerGraphEdits, DeadEndsAreRemovedAsAWhole) {
  LoadedNetwork loaded = with_a_dead_end();
  remove_unread(loaded);
  EXPECT_THAT(describe(loaded.network),
              ElementsAre("a: scale and shift 1 <- input", "d: scale and shift 1 <- a", "sum: add 1 <- d, a, a"));
  ASSERT_EQ(loaded.weights.size(), 3U);
  EXPECT_THAT(loaded.weights[1].scale, ElementsAre(4));
}

}  // namespace
}  // namespace znni
