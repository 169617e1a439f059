#include "primitives/hybrid/layers_in_turn.hpp"

#include <gtest/gtest.h>

#include <array>

namespace znni::hybrid {
namespace {

// A layer that tells the address of its scratch.
class Telling final : public PreparedLayer {
 public:
  explicit Telling(std::byte*& told) : told_(told) {}
  Result<void> run(std::span<const TensorView>, const TensorView&, Arena& arena) override {
    told_ = arena.grant("sums").data();
    return {};
  }

 private:
  std::byte*& told_;
};

Estimate estimate_of(std::int64_t bytes) {
  Estimate estimate;
  estimate.memory = {{"input 0", MemorySpace::device, 4096, Lifetime::stages(0, 0)},
                     {"sums", MemorySpace::device, bytes, Lifetime::stages(0, 0)},
                     {"kernels", MemorySpace::device, 512, Lifetime::plan()},
                     {"output", MemorySpace::device, 4096, Lifetime::stages(0, 0)}};
  return estimate;
}

TEST(LayersInTurn, CountScratchAlone) {
  const MemoryPlan scratch = scratch_of(estimate_of(64));
  ASSERT_EQ(scratch.size(), 1U);
  EXPECT_EQ(scratch.front().name, "sums");
  EXPECT_EQ(scratch_bytes(estimate_of(65)), 128);
}

TEST(LayersInTurn, ShareTheirScratchWhereverItLies) {
  std::array<std::byte*, 2> told = {};
  LayersInTurn layers;
  EXPECT_EQ(layers.bytes(), 0);
  layers.add(std::make_unique<Telling>(told[0]), estimate_of(64));
  layers.add(std::make_unique<Telling>(told[1]), estimate_of(256));
  EXPECT_EQ(layers.bytes(), 256);
  alignas(64) std::array<std::byte, 512> block = {};
  for (std::byte* const place : {block.data(), block.data() + 256, block.data() + 256}) {
    layers.place(place);
    for (std::size_t number = 0; number < 2; ++number) {
      ASSERT_TRUE(layers.run(number, {}, {}));
      EXPECT_EQ(told[number], place);
    }
  }
}

}  // namespace
}  // namespace znni::hybrid
