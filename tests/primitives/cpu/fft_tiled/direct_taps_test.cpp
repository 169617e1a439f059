#include "primitives/cpu/fft_tiled/direct_taps.hpp"

#include <gtest/gtest.h>

#include "tests/support/random.hpp"

namespace znni::cpu::fft_tiled {
namespace {

ConvProblem layer() { return {{1, 3, {9, 8, 7}}, 20, {2, 1, 3}, {1, 1, 2}, {1, 1, 1}, {}}; }

TEST(PackTaps, LayLanesBesideEachOtherAndClearThoseThatPad) {
  const Tiling t{layer(), 16, {}, 1};
  EXPECT_EQ(tap_count(t.problem), 18);
  test::Random random(test::base_seed());
  const std::vector<float> kernels = random.normals(20 * 18);
  std::vector<float> packed(2 * 18 * 16, -1.0F);
  pack_taps(t, kernels, packed);
  for (std::size_t j = 0; j < 32; ++j) {
    for (std::size_t tap = 0; tap < 18; ++tap) {
      const float expected = j < 20 ? kernels[j * 18 + tap] : 0.0F;
      EXPECT_EQ(packed[(j / 16 * 18 + tap) * 16 + j % 16], expected) << j << ", " << tap;
    }
  }
}

TEST(PackNarrowTaps, LayLanesOfTheInputBesideEachOther) {
  const Tiling t{{{1, 20, {9, 8, 7}}, 3, {2, 1, 3}, {1, 1, 2}, {1, 1, 1}, {}}, 16, {}, 1};
  EXPECT_EQ(narrow_tap_count(t), 12);
  test::Random random(test::base_seed());
  const std::vector<float> kernels = random.normals(3 * 20 * 6);
  std::vector<float> packed(12 * 3 * 16, -1.0F);
  pack_narrow_taps(t, kernels, packed);
  for (std::size_t j = 0; j < 3; ++j) {
    for (std::size_t i = 0; i < 32; ++i) {
      for (std::size_t tap = 0; tap < 6; ++tap) {
        const float expected = i < 20 ? kernels[(j * 20 + i) * 6 + tap] : 0.0F;
        EXPECT_EQ(packed[((i / 16 * 6 + tap) * 3 + j) * 16 + i % 16], expected) << j << ", " << i << ", " << tap;
      }
    }
  }
}

TEST(NarrowTapPlaces, AreThoseOfTheViewsBlocks) {
  const ConvProblem conv{{1, 20, {9, 8, 7}}, 3, {2, 1, 3}, {1, 1, 2}, {1, 1, 1}, {}};
  std::vector<float> memory(32 * 9 * 8 * 7);
  const TensorView in = dense_view(memory.data(), conv.in, {ElementType::f32, Layout::blocked16});
  std::vector<std::int64_t> places(12, -1);
  place_narrow_taps(conv, in, places);
  for (std::int64_t tap = 0; tap < 12; ++tap) {
    const Vec3 position = Vec3{tap / 3 % 2, 0, tap % 3} * conv.dilation;
    EXPECT_EQ(places[static_cast<std::size_t>(tap)], &in.at(0, tap / 6 * 16, position) - in.data) << tap;
  }
}

TEST(TapPlaces, AreThoseOfTheViewsVoxels) {
  const ConvProblem conv = layer();
  for (const Layout layout : {Layout::planar, Layout::blocked8}) {
    std::vector<float> memory(8 * 9 * 8 * 7);
    const TensorView in = dense_view(memory.data(), conv.in, {ElementType::f32, layout});
    std::vector<std::int64_t> places(18, -1);
    place_taps(conv, in, places);
    for (std::int64_t tap = 0; tap < 18; ++tap) {
      const Vec3 position = Vec3{tap / 3 % 2, 0, tap % 3} * conv.dilation;
      EXPECT_EQ(places[static_cast<std::size_t>(tap)], &in.at(0, tap / 6, position) - in.data) << tap;
    }
  }
}

}  // namespace
}  // namespace znni::cpu::fft_tiled
