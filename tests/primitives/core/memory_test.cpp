#include "primitives/core/memory.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "primitives/core/shape.hpp"
#include "tests/support/random.hpp"

namespace znni {
namespace {

Buffer host(std::string name, std::int64_t bytes, int first, int last) {
  return {std::move(name), MemorySpace::host, bytes, Lifetime::stages(first, last)};
}

MemoryPlan rounded(MemoryPlan plan) {
  for (Buffer& buffer : plan) buffer.bytes = round_up(buffer.bytes, buffer_alignment);
  return plan;
}

// Expects that no two buffers alive together share a byte, and that all are aligned within the block.
void expect_sound(const MemoryPlan& plan, const Packing& packing) {
  for (std::size_t a = 0; a < plan.size(); ++a) {
    const std::int64_t begin = packing.offsets[a];
    if (plan[a].lifetime.persistent) {
      EXPECT_EQ(begin, -1);
      continue;
    }
    EXPECT_EQ(begin % buffer_alignment, 0);
    EXPECT_LE(begin + plan[a].bytes, packing.bytes);
    for (std::size_t b = 0; b < a; ++b) {
      const Lifetime& left = plan[a].lifetime;
      const Lifetime& right = plan[b].lifetime;
      const bool together = !right.persistent && left.first <= right.last && right.first <= left.last;
      const bool apart = begin + plan[a].bytes <= packing.offsets[b] || packing.offsets[b] + plan[b].bytes <= begin;
      EXPECT_TRUE(!together || apart) << plan[a].name << " and " << plan[b].name << " overlap";
    }
  }
}

TEST(Peak, IsTheWorstStage) {
  const MemoryPlan plan = {host("input", 100, 0, 1), host("scratch", 50, 1, 1), host("output", 30, 1, 2),
                           host("late", 120, 2, 2)};
  EXPECT_EQ(peak(plan), 180);
}

TEST(Peak, CountsOneSpaceAndNoPersistentBuffers) {
  const MemoryPlan plan = {host("a", 10, 0, 0),
                           {"weights", MemorySpace::host, 1000, Lifetime::plan()},
                           {"d", MemorySpace::device, 70, Lifetime::stages(0, 0)}};
  EXPECT_EQ(peak(plan), 10);
  EXPECT_EQ(peak(plan, MemorySpace::device), 70);
  EXPECT_EQ(peak(plan, MemorySpace::pinned), 0);
  EXPECT_EQ(persistent_bytes(plan), 1000);
  EXPECT_EQ(persistent_bytes(plan, MemorySpace::device), 0);
}

TEST(Peak, Saturates) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(peak({host("a", most, 0, 0), host("b", most, 0, 0)}), most);
}

TEST(Peak, OfNothingIsNothing) {
  EXPECT_EQ(peak({}), 0);
  EXPECT_EQ(pack({}).bytes, 0);
  EXPECT_EQ(stage_count({}), 1);
}

TEST(StageCount, IsOnePastTheLastStage) { EXPECT_EQ(stage_count({host("a", 1, 0, 4), host("b", 1, 2, 3)}), 5); }

TEST(Shifted, MovesTransientBuffersOnly) {
  const MemoryPlan plan = shifted({host("a", 1, 0, 2), {"w", MemorySpace::host, 1, Lifetime::plan()}}, 3);
  EXPECT_EQ(plan[0].lifetime, Lifetime::stages(3, 5));
  EXPECT_EQ(plan[1].lifetime, Lifetime::plan());
}

TEST(Pack, ReusesTheMemoryOfBuffersThatAreGone) {
  const MemoryPlan plan = {host("a", 640, 0, 0), host("b", 640, 1, 1)};
  const Packing packing = pack(plan);
  EXPECT_EQ(packing.bytes, 640);
  EXPECT_EQ(packing.offsets, (std::vector<std::int64_t>{0, 0}));
}

TEST(Pack, AnEmptyBufferTakesNoRoom) {
  const MemoryPlan plan = {host("a", 64, 0, 0), host("nothing", 0, 0, 0), host("b", 64, 0, 0)};
  EXPECT_EQ(pack(plan).bytes, 128);
}

// Returns a chain of layers: each value lives from its producer to its reader, and each layer has its own scratch.
MemoryPlan random_chain(test::Random& random, bool scratch) {
  MemoryPlan plan;
  const auto layers = static_cast<int>(random.integer(1, 20));
  for (int layer = 0; layer <= layers; ++layer) {
    plan.push_back(host("value " + std::to_string(layer), random.integer(1, 100000), layer == 0 ? 0 : layer - 1,
                        layer == layers ? layer - 1 : layer));
    if (scratch && layer < layers) {
      plan.push_back(host("scratch " + std::to_string(layer), random.integer(1, 100000), layer, layer));
    }
  }
  return plan;
}

TEST(Pack, OfAChainIsExactlyItsPeak) {
  for (int i = 0; i < test::case_count(300); ++i) {
    test::Random random(test::base_seed() + static_cast<std::uint64_t>(i));
    const MemoryPlan plan = random_chain(random, i % 2 == 0);
    const Packing packing = pack(plan);
    EXPECT_EQ(packing.bytes, peak(rounded(plan))) << "seed " << test::base_seed() + static_cast<std::uint64_t>(i);
    expect_sound(plan, packing);
  }
}

TEST(Pack, OfAnyPlanNeverOverlapsAndComesCloseToThePeak) {
  double worst = 1.0;
  for (int i = 0; i < test::case_count(300); ++i) {
    test::Random random(test::base_seed() + static_cast<std::uint64_t>(i));
    MemoryPlan plan;
    const std::int64_t buffers = random.integer(1, 24);
    for (std::int64_t buffer = 0; buffer < buffers; ++buffer) {
      const auto first = static_cast<int>(random.integer(0, 10));
      plan.push_back(host(std::to_string(buffer), random.integer(0, 50000), first,
                          first + static_cast<int>(random.integer(0, 8))));
      if (random.chance(0.1)) plan.back().lifetime = Lifetime::plan();
    }
    const Packing packing = pack(plan);
    SCOPED_TRACE("seed " + std::to_string(test::base_seed() + static_cast<std::uint64_t>(i)));
    expect_sound(plan, packing);
    const std::int64_t least = peak(rounded(plan));
    EXPECT_GE(packing.bytes, least);
    if (least > 0) worst = std::max(worst, static_cast<double>(packing.bytes) / static_cast<double>(least));
  }
  EXPECT_LT(worst, 2.0);
}

TEST(MemorySpace, Text) {
  EXPECT_EQ(to_string(MemorySpace::host), "host");
  EXPECT_EQ(to_string(MemorySpace::pinned), "pinned");
  EXPECT_EQ(to_string(MemorySpace::device), "device");
}

}  // namespace
}  // namespace znni
