#include "planner/search/candidate_modes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "planner/geometry/streams.hpp"

namespace znni {
namespace {

using testing::ElementsAre;

// Returns a pooling of each stride, convolutions between them.
Network pooled_by(const std::vector<Vec3>& strides) {
  Network network;
  for (const Vec3 stride : strides) {
    const int before = static_cast<int>(network.nodes.size());
    const std::string number = std::to_string(before);
    network.nodes.push_back({"conv" + number, Convolution{2, Vec3::cube(3), Vec3::cube(1), {}}, {before}});
    network.nodes.push_back({"pool" + number, Pooling{PoolKind::max, stride, stride}, {before + 1}});
  }
  return network;
}

PoolingMode held(Vec3 groups) { return {groups, true}; }
PoolingMode recompute(Vec3 groups) { return {groups, false}; }

TEST(PlannerCandidateModes, StreamsSplitTheFirstPoolingAndAcrossThemTheSecond) {
  const PoolingMode all;
  EXPECT_THAT(stream_modes(pooled_by({Vec3::cube(2), Vec3::cube(2), Vec3::cube(2)})),
              ElementsAre(Modes{all, all, all}, Modes{held({2, 1, 1}), all, all}, Modes{held({2, 2, 1}), all, all},
                          Modes{held({2, 2, 2}), all, all}, Modes{recompute({1, 2, 1}), all, all},
                          Modes{recompute({1, 2, 2}), all, all}, Modes{recompute({1, 2, 2}), recompute({1, 2, 1}), all},
                          Modes{recompute({1, 2, 2}), recompute({1, 2, 2}), all}));
}

TEST(PlannerCandidateModes, StreamsOfPoolingsThatDoNotSplitAcrossThem) {
  const PoolingMode all;
  EXPECT_THAT(stream_modes(pooled_by({{2, 1, 1}, {1, 1, 2}})),
              ElementsAre(Modes{all, all}, Modes{held({2, 1, 1}), all}, Modes{all, recompute({1, 1, 2})}));
  EXPECT_THAT(stream_modes(pooled_by({})), ElementsAre(Modes{}));
}

TEST(PlannerCandidateModes, EverySetOfModesIsLegalAndThereOnce) {
  for (const Network& network : {pooled_by({{1, 2, 2}, {3, 3, 3}}), pooled_by({{1, 2, 4}}), pooled_by({})}) {
    for (const bool streams : {true, false}) {
      const std::vector<Modes> found = streams ? stream_modes(network) : patch_modes(network, Strategy::cpu);
      EXPECT_EQ(std::set<Modes>(found.begin(), found.end()).size(), found.size());
      for (const Modes& modes : found) {
        EXPECT_TRUE(!streams || can_stream(network, modes));
        EXPECT_FALSE(legal_extents(network, modes, 2, 200).empty());
      }
    }
  }
}

TEST(PlannerCandidateModes, StrategiesNarrowThem) {
  const Network network = pooled_by({Vec3::cube(2), Vec3::cube(2)});
  EXPECT_THAT(patch_modes(network, Strategy::baseline), ElementsAre(Modes{PoolMode::plain, PoolMode::plain}));
  const std::vector<Modes> whole = patch_modes(network, Strategy::layerwise);
  EXPECT_EQ(whole.size(), 4U);
  for (const Modes& modes : whole) EXPECT_FALSE(in_groups(modes));
  EXPECT_EQ(patch_modes(network, Strategy::cpu), patch_modes(network, Strategy::patches));
}

TEST(PlannerCandidateModes, PinnedOnesTakeThePlaceOfAllAndGroupsMayBeForbidden) {
  const Network network = pooled_by({Vec3::cube(2), Vec3::cube(2)});
  SearchOptions options;
  const std::vector<Modes> all = modes_of_patches(network, options);
  EXPECT_EQ(all.size(), patch_modes(network, options.strategy).size());
  EXPECT_TRUE(
      std::is_sorted(all.begin(), all.end(), [](const Modes& a, const Modes& b) { return repeats(a) < repeats(b); }));
  options.pins.groups = false;
  for (const Modes& modes : modes_of_patches(network, options)) EXPECT_FALSE(in_groups(modes));
  for (const Modes& modes : modes_of_streams(network, options)) EXPECT_FALSE(in_groups(modes));
  options.pins.modes = {PoolMode::fragments, PoolMode::fragments};
  EXPECT_THAT(modes_of_patches(network, options), ElementsAre(options.pins.modes));
  EXPECT_THAT(modes_of_streams(network, options), ElementsAre(options.pins.modes));
}

TEST(PlannerCandidateModes, PlainPoolingsRepeatMostAndHeldGroupsLeast) {
  const PoolingMode all;
  EXPECT_EQ(repeats({all, all}), 0);
  EXPECT_LT(repeats({held({2, 1, 1}), all}), repeats({recompute({2, 1, 1}), all}));
  EXPECT_LT(repeats({recompute({2, 2, 2}), all}), repeats({all, PoolMode::plain}));
  EXPECT_TRUE(in_groups({all, held({2, 1, 1})}));
}

}  // namespace
}  // namespace znni
