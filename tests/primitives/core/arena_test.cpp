#include "primitives/core/arena.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace znni {
namespace {

// An arena over its own block; every buffer of `plan` has room for 64 floats.
struct Fixture {
  explicit Fixture(const MemoryPlan& plan, bool poison = false)
      : memory(plan.size() * 64), arena(places(plan), poison) {}

  std::vector<Placement> places(const MemoryPlan& plan) {
    std::vector<Placement> placements;
    for (std::size_t i = 0; i < plan.size(); ++i) {
      placements.push_back({plan[i], reinterpret_cast<std::byte*>(memory.data() + i * 64)});
    }
    return placements;
  }

  std::vector<float> memory;
  Arena arena;
};

Buffer named_buffer(std::string name, std::int64_t bytes, Lifetime lifetime) {
  return {std::move(name), MemorySpace::host, bytes, lifetime};
}

const MemoryPlan three_stages = {
    named_buffer("input 0", 100, Lifetime::stages(0, 1)), named_buffer("early", 40, Lifetime::stages(0, 0)),
    named_buffer("late", 80, Lifetime::stages(1, 2)), named_buffer("output", 60, Lifetime::stages(2, 2)),
    named_buffer("weights", 16, Lifetime::plan())};

TEST(Arena, BothTensorsThatAreWrittenAreTheCallers) {
  Fixture fixture({named_buffer("output", 60, Lifetime::stages(0, 0)),
                   named_buffer("output 1", 40, Lifetime::stages(0, 0)),
                   named_buffer("output 1 sums", 16, Lifetime::stages(0, 0))});
  EXPECT_EQ(fixture.arena.high_water(), 100);
  EXPECT_EQ(fixture.arena.grant("output 1 sums").size(), 16U);
  EXPECT_EQ(fixture.arena.high_water(), 116);
}

TEST(Arena, GrantsTheDeclaredBytesWhereTheyLie) {
  Fixture fixture(three_stages);
  const std::span<std::byte> bytes = fixture.arena.grant("early");
  EXPECT_EQ(bytes.size(), 40U);
  EXPECT_EQ(bytes.data(), reinterpret_cast<std::byte*>(fixture.memory.data() + 64));
  EXPECT_EQ(fixture.arena.grant_as<float>("weights").size(), 4U);
}

TEST(Arena, HighWaterOfACompleteRunIsThePeak) {
  Fixture fixture(three_stages);
  EXPECT_EQ(fixture.arena.high_water(), 100);
  static_cast<void>(fixture.arena.grant("early"));
  EXPECT_EQ(fixture.arena.high_water(), 140);
  fixture.arena.stage(1);
  EXPECT_EQ(fixture.arena.high_water(), 140);
  static_cast<void>(fixture.arena.grant("late"));
  EXPECT_EQ(fixture.arena.high_water(), 180);
  fixture.arena.stage(2);
  EXPECT_EQ(fixture.arena.high_water(), 180);
  EXPECT_EQ(fixture.arena.high_water(), peak(three_stages));
}

TEST(Arena, PersistentBuffersDoNotCount) {
  Fixture fixture(three_stages);
  static_cast<void>(fixture.arena.grant("weights"));
  EXPECT_EQ(fixture.arena.high_water(), 100);
}

TEST(Arena, BeginsAgainForTheNextRun) {
  Fixture fixture(three_stages);
  for (int run = 0; run < 3; ++run) {
    fixture.arena.begin();
    static_cast<void>(fixture.arena.grant("early"));
    fixture.arena.stage(2);
    static_cast<void>(fixture.arena.grant("late"));
  }
  EXPECT_EQ(fixture.arena.high_water(), 140);
}

TEST(Arena, PoisonsWhatItGrants) {
  Fixture fixture(three_stages, true);
  const std::span<float> early = fixture.arena.grant_as<float>("early");
  for (const float value : early) EXPECT_TRUE(std::isnan(value));
  EXPECT_EQ(fixture.memory[64 + early.size()], 0.0F);
  EXPECT_EQ(fixture.arena.grant_as<float>("weights")[0], 0.0F);
}

TEST(Arena, PoisonsWhatWasGivenBack) {
  Fixture fixture(three_stages, true);
  const std::span<float> early = fixture.arena.grant_as<float>("early");
  early[0] = 1.0F;
  fixture.arena.stage(1);
  const std::span<float> late = fixture.arena.grant_as<float>("late");
  late[0] = 2.0F;
  EXPECT_TRUE(std::isnan(early[0]));
  fixture.arena.stage(2);
  EXPECT_EQ(late[0], 2.0F);  // its last stage is still open
}

TEST(Arena, CountsAndPoisonsEverySpaceByItself) {
  const MemoryPlan plan = {{"scratch", MemorySpace::device, 40, Lifetime::stages(0, 0)},
                           {"staging", MemorySpace::pinned, 24, Lifetime::stages(0, 0)}};
  Fixture fixture(plan, true);
  EXPECT_EQ(fixture.arena.grant_as<float>("scratch")[0], 0.0F);  // the host must not write device memory
  EXPECT_TRUE(std::isnan(fixture.arena.grant_as<float>("staging")[0]));
  EXPECT_EQ(fixture.arena.high_water(MemorySpace::device), 40);
  EXPECT_EQ(fixture.arena.high_water(MemorySpace::pinned), 24);
  EXPECT_EQ(fixture.arena.high_water(), 0);

  std::vector<MemorySpace> poisoned;
  fixture.arena.poison_with([&](std::span<std::byte>, MemorySpace space) { poisoned.push_back(space); });
  fixture.arena.begin();
  static_cast<void>(fixture.arena.grant("scratch"));
  EXPECT_EQ(poisoned, std::vector<MemorySpace>{MemorySpace::device});
}

TEST(ArenaDeathTest, AnUndeclaredBufferStopsTheProgram) {
  Fixture fixture(three_stages);
  EXPECT_DEATH(static_cast<void>(fixture.arena.grant("secret")), "'secret' was not declared");
}

TEST(ArenaDeathTest, ASecondGrantStopsTheProgram) {
  Fixture fixture(three_stages);
  static_cast<void>(fixture.arena.grant("early"));
  EXPECT_DEATH(static_cast<void>(fixture.arena.grant("early")), "'early' was granted twice");
}

TEST(ArenaDeathTest, AGrantOutsideItsStagesStopsTheProgram) {
  Fixture fixture(three_stages);
  EXPECT_DEATH(static_cast<void>(fixture.arena.grant("late")), "'late' is not alive");
  fixture.arena.stage(1);
  EXPECT_DEATH(static_cast<void>(fixture.arena.grant("early")), "'early' is not alive");
}

TEST(ArenaDeathTest, StagesOnlyGoForward) {
  Fixture fixture(three_stages);
  fixture.arena.stage(2);
  EXPECT_DEATH(fixture.arena.stage(1), "only go forward");
}

TEST(ArenaDeathTest, GrantsWholeElementsOnly) {
  Fixture fixture({named_buffer("odd", 7, Lifetime::stages(0, 0))});
  EXPECT_DEATH(static_cast<void>(fixture.arena.grant_as<float>("odd")), "whole number of elements");
}

}  // namespace
}  // namespace znni
