#include "planner/plan/pins.hpp"

#include <gtest/gtest.h>

namespace znni {
namespace {

const PoolingMode held({2, 1, 1}, true);
const PoolingMode recompute({1, 2, 1}, false);

TEST(PlannerPins, FlagsAreReadAsTheyAreWritten) {
  Pins pins;
  EXPECT_EQ(to_string(pins), "");
  EXPECT_EQ(with_pins(pins), "");
  pins = {Vec3{88, 288, 280}, "conv4", {PoolMode::plain, PoolMode::fragments, held, recompute}, 2, false, false};
  EXPECT_EQ(
      to_string(pins),
      "--patch 88,288,280 --theta conv4 --modes max,mpf,mpf:2x1x1,mpf:1x2x1:recompute --S 2 --no-stream --no-groups");
  EXPECT_EQ(with_pins(pins), " with " + to_string(pins));
  EXPECT_EQ(parse_pinned_patch("88,288,280").value(), *pins.patch);
  EXPECT_EQ(parse_pinned_modes("max,mpf,mpf:2x1x1,mpf:1x2x1:recompute").value(), pins.modes);
  EXPECT_EQ(parse_pinned_batch("2").value(), 2);
}

TEST(PlannerPins, OtherWordsMeanTheSame) {
  EXPECT_EQ(parse_pinned_patch("64").value(), Vec3::cube(64));
  EXPECT_EQ(patch_flag(Vec3::cube(64)), "--patch 64");
  EXPECT_EQ(parse_pinned_patch("8x9x10").value(), (Vec3{8, 9, 10}));
  EXPECT_EQ(parse_pinned_modes("plain").value(), std::vector<PoolingMode>{PoolMode::plain});
  EXPECT_EQ(parse_pinned_modes("mpf:1x2x1:anew").value(), std::vector<PoolingMode>{recompute}) << "of 0.2.0";
  EXPECT_EQ(parse_pinned_modes("mpf:1x1x1:recompute").value(), std::vector<PoolingMode>{PoolMode::fragments});
}

TEST(PlannerPins, WrongWordsAreNamed) {
  for (const char* text : {"", "0", "-4", "3,4", "3,4,5,6", "a", "65537", "4,4,65537", "99999999999999999999"}) {
    const Result<Vec3> patch = parse_pinned_patch(text);
    ASSERT_FALSE(patch) << text;
    EXPECT_NE(patch.error().message.find("'" + std::string(text) + "': write"), std::string::npos);
  }
  for (const char* text : {"avg", "mpf,", ",mpf", "", "mpf:", "mpf:2", "mpf:0x1x1", "mpf:2x1x1:held", "max:2x1x1"}) {
    EXPECT_FALSE(parse_pinned_modes(text)) << text;
  }
  EXPECT_NE(parse_pinned_modes("mpf,avg").error().message.find("'avg'"), std::string::npos);
  for (const char* text : {"", "0", "4097", "two", "1.5", "2 "}) EXPECT_FALSE(parse_pinned_batch(text)) << text;
}

TEST(PlannerPins, ACubeIsOneAlongTheAxesThatTheNetHas) {
  Pins pins;
  EXPECT_FALSE(pinned_patch(pins, 3));
  pins.patch = Vec3::cube(9);
  EXPECT_EQ(pinned_patch(pins, 3), Vec3::cube(9));
  EXPECT_EQ(pinned_patch(pins, 2), (Vec3{1, 9, 9}));
  EXPECT_EQ(pinned_patch(pins, 1), (Vec3{1, 1, 9}));
  pins.patch = Vec3{2, 9, 9};
  EXPECT_EQ(pinned_patch(pins, 2), (Vec3{2, 9, 9}));
}

TEST(PlannerPins, AxesAreSwappedInPatchAndGroups) {
  Pins pins;
  EXPECT_EQ(swap_axes(pins, 2), pins);
  pins.patch = Vec3{3, 4, 5};
  pins.modes = {held, recompute};
  const Pins turned = swap_axes(pins, 2);
  EXPECT_EQ(turned.patch, (Vec3{5, 4, 3}));
  EXPECT_EQ(turned.modes, (std::vector<PoolingMode>{PoolingMode({1, 1, 2}, true), recompute}));
  EXPECT_EQ(swap_axes(turned, 2), pins);
}

TEST(PlannerPins, SmallerRungsKeepAllButPatchAndS) {
  const Pins pins = {Vec3::cube(8), "4", {PoolMode::plain}, 2, false, false};
  const Pins kept = of_smaller_rungs(pins);
  EXPECT_EQ(to_string(kept), "--theta 4 --modes max --no-stream --no-groups");
  EXPECT_EQ(of_smaller_rungs(kept), kept);
}

}  // namespace
}  // namespace znni
