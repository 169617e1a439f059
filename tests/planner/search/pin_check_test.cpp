#include "planner/search/pin_check.hpp"

#include <gtest/gtest.h>

#include "planner/search/candidates.hpp"
#include "tests/planner/drawn_primitives.hpp"

namespace znni {
namespace {

SearchOptions options_of(const Pins& pins) {
  SearchOptions options;
  options.memory_limit = 1 << 20;
  options.max_extent = 20;
  options.pins = pins;
  return options;
}

std::string refused(const Network& network, const SearchOptions& options) {
  const Result<void> sound = check_pins(network, options);
  EXPECT_FALSE(sound);
  if (sound) return "";
  EXPECT_EQ(sound.error().code, ErrorCode::invalid_argument);
  return sound.error().message;
}

Pins modes(const char* text) {
  Pins pins;
  pins.modes = parse_pinned_modes(text).value();
  return pins;
}

TEST(PlannerPinCheck, NamesTheModesAndWhatTheNetHas) {
  EXPECT_EQ(refused(drawn::chain(), options_of(modes("max,mpf"))),
            "--modes max,mpf: 2 modes; chain has 1 pooling (pool1)");
  EXPECT_EQ(refused(drawn::branches(), options_of(modes("mpf"))), "--modes mpf: 1 mode; branches has no poolings");
  EXPECT_NE(refused(drawn::chain(), options_of(modes("mpf:3x1x1"))).find("--modes mpf:3x1x1: node pool1: 3 groups"),
            std::string::npos);
  EXPECT_TRUE(check_pins(drawn::chain(), options_of(modes("mpf:2x1x1"))));
  EXPECT_TRUE(check_pins(drawn::chain(), options_of({})));
}

TEST(PlannerPinCheck, NamesWhatExcludesTheModes) {
  SearchOptions options = options_of(modes("mpf:2x1x1"));
  options.strategy = Strategy::layerwise;
  EXPECT_NE(refused(drawn::chain(), options).find("--strategy layerwise excludes"), std::string::npos);
  options.strategy = Strategy::baseline;
  EXPECT_NE(refused(drawn::chain(), options).find("--strategy baseline"), std::string::npos);
  options.strategy = Strategy::cpu;
  options.pins.groups = false;
  EXPECT_NE(refused(drawn::chain(), options).find("--no-groups excludes"), std::string::npos);
  options.pins.modes = {PoolMode::fragments};
  EXPECT_TRUE(check_pins(drawn::chain(), options));
}

// The extents that are named fit, and none between them does.
TEST(PlannerPinCheck, NamesTheNearestPatchesThatFit) {
  int told = 0;
  for (const char* text : {"max", "mpf", "mpf:1x1x2:recompute", ""}) {
    for (std::int64_t edge = 1; edge < 12; ++edge) {
      SearchOptions options = options_of(*text == '\0' ? Pins() : modes(text));
      options.pins.streams = edge % 2 == 0;
      const auto fits = [&](std::int64_t n) {
        options.pins.patch = Vec3::cube(n);
        return !make_candidates(drawn::chain(), options).empty();
      };
      if (fits(edge)) continue;
      ++told;
      std::int64_t below = edge;
      std::int64_t above = edge;
      while (below > 0 && !fits(below)) --below;
      while (!fits(above)) ++above;
      options.pins.patch = Vec3::cube(edge);
      const std::string message = no_candidate(drawn::chain(), options).message;
      const std::string both = (below > 0 ? std::to_string(below) + " and " : "") + std::to_string(above);
      EXPECT_TRUE(message.ends_with("the nearest that fit: " + both)) << message << " not " << both;
      EXPECT_TRUE(message.starts_with(patch_flag(*options.pins.patch) + ": no patch of chain")) << message;
    }
  }
  EXPECT_GT(told, 10);
}

// Both fit, and each axis lies beside what was asked for.
TEST(PlannerPinCheck, NamesTheNearestExtentsAxisByAxis) {
  int told = 0;
  for (int i = 0; i < 40; ++i) {
    SearchOptions options = options_of(i % 2 == 0 ? modes("mpf") : Pins());
    const Vec3 asked{10 + i % 3, 9 + i % 5, 8 + i % 7};
    options.pins.patch = asked;
    options.pins.streams = i % 4 < 2;
    if (!make_candidates(drawn::chain(), options).empty()) continue;
    ++told;
    const std::string message = no_candidate(drawn::chain(), options).message;
    std::string named = message.substr(message.find("that fit: ") + 10);
    const std::size_t both = named.find(" and ");
    ASSERT_NE(both, std::string::npos) << message;
    const Vec3 below = parse_pinned_patch(named.substr(0, both)).value();
    const Vec3 above = parse_pinned_patch(named.substr(both + 5)).value();
    EXPECT_TRUE(covers(asked, below) && covers(above, asked)) << message;
    EXPECT_TRUE(covers(below + Vec3::cube(2), above)) << message;
    for (const Vec3 near : {below, above}) {
      options.pins.patch = near;
      EXPECT_FALSE(make_candidates(drawn::chain(), options).empty()) << message;
    }
  }
  EXPECT_GT(told, 10);
}

TEST(PlannerPinCheck, NetsOfFewerAxesHaveOnePlane) {
  SearchOptions options = options_of({});
  options.pins.patch = Vec3{2, 7, 7};
  const std::string message = no_candidate(drawn::chain_of_rank(2), options).message;
  EXPECT_NE(message.find("--patch 2,7,7: no patch"), std::string::npos) << message;
  options.pins.patch = Vec3{3, 6, 6};
  EXPECT_NE(no_candidate(drawn::chain_of_rank(2), options).message.find("the nearest that fit: "), std::string::npos);
}

TEST(PlannerPinCheck, WithoutAPinnedPatchTheFieldOfViewIsToBlame) {
  SearchOptions options = options_of({});
  options.max_extent = 1;
  EXPECT_NE(no_candidate(drawn::chain(), options).message.find("no legal input extent up to 1"), std::string::npos);
}

}  // namespace
}  // namespace znni
