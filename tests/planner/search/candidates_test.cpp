#include "planner/search/candidates.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>

#include "planner/network/swap_axes.hpp"
#include "tests/planner/drawn_primitives.hpp"

namespace znni {
namespace {

// Returns four convolutions and three poolings by 2, like the papers' nets: field of view 64.
Network deep() {
  Network network;
  network.name = "deep";
  for (int i = 0; i < 4; ++i) {
    const int input = static_cast<int>(network.nodes.size());
    network.nodes.push_back({"conv" + std::to_string(i), drawn::convolution(2, Vec3::cube(4)), {input}});
    if (i < 3) network.nodes.push_back({"pool" + std::to_string(i), Pooling{}, {input + 1}});
  }
  return network;
}

SearchOptions options_up_to(std::int64_t max_extent = 300) {
  SearchOptions chosen;
  chosen.max_extent = max_extent;
  return chosen;
}

void expect_sound(const Network& network, const SearchOptions& chosen) {
  std::vector<std::string> seen;
  for (const GeometryChoice& choice : make_candidates(network, chosen)) {
    const Result<Geometry> geometry = make_geometry(network, choice);
    ASSERT_TRUE(geometry) << geometry.error().message;
    ASSERT_TRUE(covers(Vec3::cube(chosen.max_extent), geometry->patch_input)) << to_string(geometry->patch_input);
    std::string key = to_string(choice.pass_input) + " S " + std::to_string(choice.S);
    for (const PoolingMode& mode : choice.modes) key += " " + to_string(mode);
    key += " stem " + std::to_string(choice.stem_slab) + (choice.streamed ? " streamed" : "") + " axis " +
           std::to_string(choice.axis);
    seen.push_back(key);
  }
  const std::set<std::string> distinct(seen.begin(), seen.end());
  EXPECT_EQ(distinct.size(), seen.size());
  EXPECT_LE(seen.size(), static_cast<std::size_t>(chosen.max_patches) * 4);
}

TEST(PlannerCandidates, AreAsManyAsTheirBoundLetsThemBe) {
  SearchOptions few = options_up_to();
  few.max_patches = 2000;
  SearchOptions many = options_up_to();
  many.max_patches = 200'000;
  const std::size_t some = make_candidates(deep(), options_up_to()).size();
  EXPECT_LT(make_candidates(deep(), few).size(), some);
  EXPECT_GT(make_candidates(deep(), many).size(), some);
}

TEST(PlannerCandidates, AStopEndsTheirMaking) {
  const std::size_t all = make_candidates(deep(), options_up_to()).size();
  SearchOptions chosen = options_up_to();
  int asked = 0;
  chosen.stop = [&asked] { return ++asked > 3; };
  EXPECT_LT(make_candidates(deep(), chosen).size(), all);
  asked = 3;
  EXPECT_TRUE(make_candidates(deep(), chosen).empty());
}

TEST(PlannerCandidates, AreLegalDistinctAndBounded) {
  for (const Network& network : {drawn::chain(), drawn::branches(), deep()}) {
    for (const std::int64_t most : {20, 100, 1024}) {
      SCOPED_TRACE(network.name + " up to " + std::to_string(most));
      expect_sound(network, options_up_to(most));
      SearchOptions baseline = options_up_to(most);
      baseline.strategy = Strategy::baseline;
      expect_sound(network, baseline);
    }
  }
}

TEST(PlannerCandidates, SmallSpacesAreComplete) {
  SearchOptions chosen = options_up_to(12);
  chosen.max_S = 1;
  const Network network = drawn::chain();
  std::set<Vec3> expected;
  for (std::int64_t z = 1; z <= 12; ++z) {
    for (std::int64_t y = 1; y <= 12; ++y) {
      for (std::int64_t x = 1; x <= 12; ++x) {
        if (make_geometry(network, {{z, y, x}, 1, {PoolMode::fragments}})) expected.insert({z, y, x});
      }
    }
  }
  std::set<Vec3> found;
  for (const GeometryChoice& choice : make_candidates(network, chosen)) {
    if (choice.modes.front() == PoolMode::fragments && !choice.streamed) found.insert(choice.pass_input);
  }
  EXPECT_GT(found.size(), 60U);
  EXPECT_EQ(found, expected);
}

TEST(PlannerCandidates, AreAllWhereEveryExtentIsAskedFor) {
  SearchOptions chosen = options_up_to(200);
  chosen.max_S = 2;
  chosen.pins.modes.assign(3, PoolMode::fragments);
  const auto edges = static_cast<std::int64_t>(legal_extents(deep(), chosen.pins.modes, 0, 200).size());
  const auto count = [](const std::vector<GeometryChoice>& all, std::int64_t S, bool streamed) {
    return std::count_if(all.begin(), all.end(), [&](const GeometryChoice& choice) {
      return choice.S == S && choice.streamed == streamed && choice.stem_slab == 0;
    });
  };
  const std::vector<GeometryChoice> some = make_candidates(deep(), chosen);
  EXPECT_LT(count(some, 1, false), edges * edges * edges);
  chosen.every_extent = true;
  const std::vector<GeometryChoice> all = make_candidates(deep(), chosen);
  EXPECT_EQ(count(all, 1, false), edges * edges * edges);
  EXPECT_EQ(count(all, 2, false), edges * edges * edges);
  EXPECT_GT(count(all, 1, true), count(some, 1, true));
  EXPECT_EQ(count(all, 1, true) % (edges * edges), 0) << "every cross-section";
}

TEST(PlannerCandidates, LargeSpacesHaveEveryCubeAndLongOnes) {
  const Network network = deep();
  const std::vector<PoolingMode> fragments(3, PoolMode::fragments);
  std::set<Vec3> found;
  for (const GeometryChoice& choice : make_candidates(network, options_up_to(1024))) {
    if (choice.modes == fragments && choice.S == 1 && !choice.streamed) found.insert(choice.pass_input);
  }
  for (const std::int64_t edge : legal_extents(network, fragments, 0, 1024)) {
    EXPECT_TRUE(found.contains(Vec3::cube(edge))) << edge;
  }
  const auto longer = [](const Vec3& n) { return n.x > 4 * n.z && n.x > 4 * n.y; };
  EXPECT_TRUE(std::any_of(found.begin(), found.end(), longer));
}

TEST(PlannerCandidates, ModesOfThreePoolingsInAllCombinations) {
  std::set<std::vector<PoolingMode>> modes;
  std::size_t before = 0;
  for (const GeometryChoice& choice : make_candidates(deep(), options_up_to())) {
    modes.insert(choice.modes);
    const auto plains =
        static_cast<std::size_t>(std::count(choice.modes.begin(), choice.modes.end(), PoolingMode(PoolMode::plain)));
    EXPECT_GE(plains, before);
    before = plains;
  }
  // Plain and fragments: 8. Held groups of each, 4^3 - 1; the first by recomputing, 2 * 4^2, and 4 more that only
  // streams have.
  EXPECT_EQ(modes.size(), 8U + 63U + 32U + 4U);
}

TEST(PlannerCandidates, AVolumeIsCutEvenlyAndNotExceeded) {
  const Network network = deep();
  SearchOptions chosen = options_up_to(1024);
  chosen.volume = Vec3{100, 400, 500};
  const Vec3 fov = reaches(network).back().fov;
  const Vec3 out = *chosen.volume - fov + Vec3::cube(1);
  bool whole = false;
  bool halves = false;
  for (const GeometryChoice& choice : make_candidates(network, chosen)) {
    const Result<Geometry> geometry = make_geometry(network, choice);
    ASSERT_TRUE(geometry);
    if (choice.streamed) {
      EXPECT_LE(choice.pass_input.z, (*chosen.volume)[choice.axis] + 8);
      continue;
    }
    EXPECT_TRUE(covers(out + Vec3::cube(8), geometry->patch_output));
    whole = whole || covers(geometry->patch_output, out);
    const Vec3 half = {div_up(out.z, 2), div_up(out.y, 2), div_up(out.x, 2)};
    halves = halves || (covers(geometry->patch_output, half) && covers(half + Vec3::cube(8), geometry->patch_output));
  }
  EXPECT_TRUE(whole);
  EXPECT_TRUE(halves);
}

// Padding is computed nowhere where a patch has the whole volume.
TEST(PlannerCandidates, PatchesAsLongAsTheVolumeAreClosedThere) {
  Network network;
  network.nodes = {{"a", drawn::convolution(2, Vec3::cube(3)), {0}}, {"b", drawn::convolution(2, Vec3::cube(3)), {1}}};
  network.nodes[1].beyond = network.nodes[0].outside = {};
  network.nodes[0].beyond = network.nodes[0].outside = {{0, 1, 1}, {0, 1, 1}};
  network.frame = {{0, 2, 2}, {0, 2, 2}};
  SearchOptions chosen = options_up_to(40);
  chosen.volume = Vec3{20, 24, 30};
  int closed = 0;
  for (const GeometryChoice& choice : make_candidates(network, chosen)) {
    const Vec3 volume = swap_axes(*chosen.volume, choice.axis);
    for (int axis = 0; axis < 3; ++axis) {
      const bool pads = swap_axes(network.frame.begin, choice.axis)[axis] > 0;
      const bool whole = choice.pass_input[axis] == volume[axis] && !(choice.streamed && axis == 0);
      EXPECT_EQ(choice.closed[axis], pads && whole ? 1 : 0);
    }
    closed += choice.closed != Vec3{} ? 1 : 0;
  }
  EXPECT_GT(closed, 10);
  chosen.volume.reset();
  for (const GeometryChoice& choice : make_candidates(network, chosen)) EXPECT_EQ(choice.closed, Vec3{});
}

TEST(PlannerCandidates, StreamsComeFirstInEveryThicknessWithAndWithoutAHead) {
  const Network network = deep();
  const std::vector<GeometryChoice> candidates = make_candidates(network, options_up_to(1024));
  std::set<std::int64_t> planes;
  std::set<std::int64_t> edges;
  std::size_t stems = 0;
  std::size_t count = 0;
  while (candidates.at(count).streamed) ++count;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const GeometryChoice& choice = candidates[i];
    ASSERT_EQ(choice.streamed, i < count);
    if (!choice.streamed) continue;
    planes.insert(choice.pass_input.z);
    if (choice.modes == std::vector<PoolingMode>(3)) edges.insert(choice.pass_input.y);
    stems += choice.stem_slab > 0 ? 1 : 0;
  }
  EXPECT_EQ(*planes.begin(), 8);
  EXPECT_EQ(*planes.rbegin(), 8 * 32);
  EXPECT_EQ(planes.size(), 15U);
  EXPECT_GT(stems, count / 4);
  for (const std::int64_t edge : edges) {
    const auto next = edges.upper_bound(edge);
    if (next == edges.end()) break;
    EXPECT_LE(static_cast<double>(*next), 1.04 * static_cast<double>(edge) + 8);
  }
  EXPECT_LT(count, candidates.size() / 4);
  SearchOptions patches = options_up_to(1024);
  patches.strategy = Strategy::patches;
  EXPECT_EQ(make_candidates(network, patches).size(), candidates.size() - count);
}

TEST(PlannerCandidates, LayerwiseIsWholeLayersAlone) {
  SearchOptions whole = options_up_to();
  whole.strategy = Strategy::layerwise;
  const std::vector<GeometryChoice> all = make_candidates(deep(), options_up_to());
  const std::vector<GeometryChoice> found = make_candidates(deep(), whole);
  EXPECT_GT(found.size(), 100U);
  EXPECT_LT(found.size(), all.size());
  for (const GeometryChoice& choice : found) {
    EXPECT_FALSE(choice.streamed);
    EXPECT_EQ(choice.stem_slab, 0);
    for (const PoolingMode& mode : choice.modes) EXPECT_EQ(mode.groups, Vec3::cube(1));
    EXPECT_NE(std::find(all.begin(), all.end(), choice), all.end());
  }
}

// Along z alone where y and x are nothing else.
TEST(PlannerCandidates, StreamsRunAlongEveryAxisThatDiffers) {
  const auto axes = [](const Network& network, std::optional<Vec3> volume) {
    SearchOptions chosen = options_up_to(128);
    chosen.volume = volume;
    std::set<int> found;
    for (const GeometryChoice& choice : make_candidates(network, chosen)) {
      if (choice.streamed) found.insert(choice.axis);
      EXPECT_TRUE(make_geometry(network, choice));
    }
    return found;
  };
  EXPECT_EQ(axes(deep(), std::nullopt), std::set<int>{0});
  EXPECT_EQ(axes(deep(), Vec3::cube(200)), std::set<int>{0});
  EXPECT_EQ(axes(deep(), Vec3{100, 200, 200}), (std::set<int>{0, 1, 2}));
  EXPECT_EQ(axes(deep(), Vec3{200, 100, 200}), (std::set<int>{0, 1}));
  Network flat = deep();
  std::get<Convolution>(flat.nodes.front().operation).k.z = 1;
  EXPECT_EQ(axes(flat, std::nullopt), (std::set<int>{0, 1, 2}));
}

// The neighbours are what the enumeration steps over, each once.
TEST(PlannerCandidates, NeighboursOfAStreamLieBetweenTheSquares) {
  const Network network = deep();
  const std::vector<GeometryChoice> candidates = make_candidates(network, options_up_to(1024));
  const auto found = std::find_if(candidates.begin(), candidates.end(), [](const GeometryChoice& choice) {
    return choice.streamed && choice.pass_input.z == 80 && choice.pass_input.y > 400 && choice.pass_input.y < 500;
  });
  ASSERT_NE(found, candidates.end());
  const std::vector<GeometryChoice> neighbours = make_neighbours(network, options_up_to(1024), *found);
  std::set<Vec3> extents = {found->pass_input};
  for (const GeometryChoice& neighbour : neighbours) {
    EXPECT_TRUE(extents.insert(neighbour.pass_input).second);
    EXPECT_TRUE(make_geometry(network, neighbour));
    GeometryChoice same = neighbour;
    same.pass_input = found->pass_input;
    EXPECT_EQ(same, *found);
    EXPECT_LE(std::abs(neighbour.pass_input.z - 80), 16);
    EXPECT_TRUE(covers(neighbour.pass_input, {0, found->pass_input.y, found->pass_input.x}));
    EXPECT_LE(static_cast<double>(neighbour.pass_input.x), 1.04 * static_cast<double>(found->pass_input.x));
  }
  EXPECT_TRUE(extents.contains({64, found->pass_input.y + 8, found->pass_input.x}));
  EXPECT_TRUE(extents.contains({96, found->pass_input.y, found->pass_input.x + 16}));
}

// Beside what the ladder has: the next extents in all combinations, and all along one axis.
TEST(PlannerCandidates, NeighboursOfAPatchAreItsNextExtents) {
  const Network network = deep();
  SearchOptions own = options_up_to(400);
  const std::vector<GeometryChoice> candidates = make_candidates(network, own);
  const auto found = std::find_if(candidates.begin(), candidates.end(), [](const GeometryChoice& choice) {
    return !choice.streamed && choice.S == 1 && choice.pass_input.y > 150 && choice.pass_input.x < 250 &&
           std::all_of(choice.modes.begin(), choice.modes.end(),
                       [](const PoolingMode& mode) { return mode.mode == PoolMode::fragments; });
  });
  ASSERT_NE(found, candidates.end());
  std::set<Vec3> extents = {found->pass_input};
  for (const GeometryChoice& neighbour : make_neighbours(network, own, *found)) {
    EXPECT_TRUE(extents.insert(neighbour.pass_input).second);
    EXPECT_TRUE(make_geometry(network, neighbour));
    GeometryChoice same = neighbour;
    same.pass_input = found->pass_input;
    EXPECT_EQ(same, *found);
  }
  std::array<std::vector<std::int64_t>, 3> legal;
  for (int axis = 0; axis < 3; ++axis) {
    auto& along = legal[static_cast<std::size_t>(axis)];
    along = legal_extents(network, found->modes, axis, found->pass_input[axis]);
    ASSERT_GE(along.size(), 4U);
  }
  const auto below = [&](std::size_t axis, std::size_t steps) {
    return *(legal[axis].rbegin() + std::ptrdiff_t(steps));
  };
  EXPECT_TRUE(extents.contains({below(0, 3), below(1, 1), below(2, 2)}));
  EXPECT_TRUE(extents.contains({legal[0].front(), found->pass_input.y, found->pass_input.x}));
  own.pins.patch = Vec3::cube(200);
  EXPECT_TRUE(make_neighbours(network, own, *found).empty());
}

TEST(PlannerCandidates, FlatNetsStayFlat) {
  Network network;
  network.spatial_rank = 2;
  network.nodes = {{"conv", drawn::convolution(2, {1, 3, 3}), {0}},
                   {"pool", Pooling{PoolKind::max, {1, 2, 2}, {1, 2, 2}}, {1}}};
  const std::vector<GeometryChoice> candidates = make_candidates(network, options_up_to());
  EXPECT_GT(candidates.size(), 100U);
  for (const GeometryChoice& choice : candidates) EXPECT_EQ(choice.pass_input.z, 1);
}

// Planes that have nothing to do with each other need not be together.
TEST(PlannerCandidates, NetsThatSeeOnePlaneAtATimeHaveThinPatches) {
  Network network;
  network.name = "one plane";
  network.nodes = {{"conv", drawn::convolution(2, {1, 3, 3}), {0}}};
  const auto thickest = [&network] {
    std::int64_t planes = 0;
    for (const GeometryChoice& choice : make_candidates(network, options_up_to(1024))) {
      if (choice.axis == 0) planes = std::max(planes, choice.pass_input.z);
      EXPECT_LE(choice.pass_input.z, choice.axis == 0 ? 1024 : 32);
    }
    return planes;
  };
  EXPECT_EQ(thickest(), 8);
  const std::vector<GeometryChoice> candidates = make_candidates(network, options_up_to(1024));
  const auto is_quarter = [](const GeometryChoice& choice) { return choice.pass_input == Vec3{4, 512, 512}; };
  EXPECT_TRUE(std::any_of(candidates.begin(), candidates.end(), is_quarter));
  SearchOptions of_volume = options_up_to(1024);
  of_volume.volume = Vec3{100, 902, 902};
  const std::vector<GeometryChoice> cut = make_candidates(network, of_volume);
  const auto is_third = [](const GeometryChoice& choice) { return choice.pass_input == Vec3{8, 302, 302}; };
  EXPECT_TRUE(std::any_of(cut.begin(), cut.end(), is_third)) << "fitted across, however many planes there are";
  std::get<Convolution>(network.nodes.front().operation).k.z = 2;
  EXPECT_EQ(thickest(), 1024);
}

TEST(PlannerCandidates, LinesStayLines) {
  Network network;
  network.spatial_rank = 1;
  network.nodes = {{"conv", drawn::convolution(2, {1, 1, 5}), {0}},
                   {"pool", Pooling{PoolKind::max, {1, 1, 2}, {1, 1, 2}}, {1}}};
  const std::vector<GeometryChoice> candidates = make_candidates(network, options_up_to());
  EXPECT_GT(candidates.size(), 10U);
  for (const GeometryChoice& choice : candidates) EXPECT_EQ(choice.pass_input.z * choice.pass_input.y, 1);
}

}  // namespace
}  // namespace znni
