#include "planner/search/window_candidates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/network/padding.hpp"
#include "planner/search/candidates.hpp"

namespace znni {
namespace {

using testing::HasSubstr;

Network normalised(std::int64_t pads) {
  Network network;
  network.name = "net";
  const Convolution conv{4, Vec3::cube(3), Vec3::cube(1), {}};
  network.nodes = {{"a", conv, {0}}, {"norm", Norm{4}, {1}}, {"b", conv, {2}}};
  const Border around{Vec3::cube(pads), Vec3::cube(pads)};
  return without_padding({network, {}}, {around, {}, around}).value().network;
}

SearchOptions options_for(std::optional<Vec3> volume) {
  SearchOptions options;
  options.memory_limit = 1 << 30;
  options.volume = volume;
  return options;
}

std::string failure(const Network& network, const SearchOptions& options) {
  const Result<void> checked = check_options(network, options);
  return checked ? "" : checked.error().message;
}

TEST(PlannerWindowCandidates, AreTheWindowAlone) {
  const GeometryChoice open{Vec3::cube(9), 1, {}};
  EXPECT_EQ(make_candidates(normalised(0), options_for(Vec3::cube(9))), std::vector{open});
  GeometryChoice closed{Vec3::cube(12), 1, {}};
  closed.closed = Vec3::cube(1);
  EXPECT_EQ(make_candidates(normalised(1), options_for(Vec3::cube(12))), std::vector{closed});
  Network network = normalised(1);
  network.window = Vec3::cube(8);
  EXPECT_EQ(make_candidates(network, options_for({})), std::vector{closed});
  EXPECT_TRUE(make_neighbours(network, options_for({}), closed).empty());
}

TEST(PlannerWindowCandidates, OptionsMustSayHowLargeTheWindowIs) {
  EXPECT_EQ(failure(normalised(1), options_for(Vec3::cube(12))), "");
  EXPECT_THAT(failure(normalised(1), options_for({})),
              HasSubstr("net normalises over all voxels of its window (node norm): say how large that is"));
  Network network = normalised(1);
  network.window = Vec3::cube(8);
  EXPECT_EQ(failure(network, options_for({})), "");
  EXPECT_THAT(failure(network, options_for(Vec3::cube(13))),
              HasSubstr("and that is 8x8x8; a plan for volumes of 9x9x9"));
}

TEST(PlannerWindowCandidates, APinnedPatchIsTheWindow) {
  SearchOptions options = options_for(Vec3::cube(12));
  options.pins.patch = Vec3::cube(12);
  EXPECT_EQ(failure(normalised(1), options), "");
  options.pins.patch = Vec3::cube(13);
  EXPECT_THAT(failure(normalised(1), options), HasSubstr("the patch is pinned to 13x13x13; the network is bound"));
  options.pins.patch.reset();
  options.pins.S = 2;
  EXPECT_THAT(failure(normalised(1), options), HasSubstr("a batch of 1 is right"));
}

}  // namespace
}  // namespace znni
