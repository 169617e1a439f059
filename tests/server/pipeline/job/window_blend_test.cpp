#include "server/pipeline/job/window_blend.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/random.hpp"

namespace znni {
namespace {

using testing::ElementsAre;

TEST(WindowBlend, WindowsOverlapByTheirShareAndEndWithTheVolume) {
  EXPECT_THAT(window_begins(16, 8, 0.5), ElementsAre(0, 4, 8));
  EXPECT_THAT(window_begins(17, 8, 0.5), ElementsAre(0, 4, 8, 9));
  EXPECT_THAT(window_begins(16, 8, 0.0), ElementsAre(0, 8));
  EXPECT_THAT(window_begins(20, 8, 0.25), ElementsAre(0, 6, 12));
  EXPECT_THAT(window_begins(9, 8, 0.99), ElementsAre(0, 1));
  EXPECT_THAT(window_begins(8, 8, 0.5), ElementsAre(0));
}

TEST(WindowBlend, AWindowLiesAroundAVolumeThatIsSmaller) {
  EXPECT_THAT(window_begins(5, 8, 0.5), ElementsAre(-1));
  EXPECT_THAT(window_begins(4, 8, 0.5), ElementsAre(-2));
}

TEST(WindowBlend, WindowsAreCountedWithoutAList) {
  for (std::int64_t n = 1; n < 40; ++n) {
    for (std::int64_t window = 1; window < 12; ++window) {
      for (const double overlap : {0.0, 0.25, 0.5, 0.99}) {
        EXPECT_EQ(window_count(n, window, overlap), std::ssize(window_begins(n, window, overlap)))
            << n << ' ' << window;
      }
    }
  }
  EXPECT_EQ(window_count(std::int64_t{1} << 60, 2, 0.5), (std::int64_t{1} << 60) - 1);
}

TEST(WindowBlend, ConstantWeightsAreOne) {
  const WindowWeights weights = window_weights(WindowWeight::constant, {1, 2, 3});
  EXPECT_EQ(weights.of({0, 0, 0}), 1);
  EXPECT_EQ(weights.of({0, 1, 2}), 1);
}

// A sigma of an eighth of the extent per axis: 1/8 and 3/8.
TEST(WindowBlend, GaussianWeightsFallFromTheMiddle) {
  const WindowWeights weights = window_weights(WindowWeight::gaussian, {1, 1, 3});
  EXPECT_FLOAT_EQ(weights.of({0, 0, 1}), 1);
  EXPECT_FLOAT_EQ(weights.of({0, 0, 0}), static_cast<float>(std::exp(-1 / (2 * 0.375 * 0.375))));
  EXPECT_EQ(weights.of({0, 0, 0}), weights.of({0, 0, 2}));
  const WindowWeights large = window_weights(WindowWeight::gaussian, {16, 16, 16});
  EXPECT_EQ(large.of({0, 0, 0}), 1e-3F);
  EXPECT_FLOAT_EQ(large.of({8, 8, 8}), static_cast<float>(std::exp(-3 * 0.25 / (2 * 4))));
}

// Every voxel is owned once, by a window that covers it, and a row completes the planes that no later one covers.
TEST(WindowBlend, AGridOwnsEveryVoxelOnce) {
  for (int i = 0; i < test::case_count(40); ++i) {
    test::Random random(test::base_seed() + static_cast<std::uint64_t>(i));
    const Vec3 output = random.vec3(1, 12);
    const Vec3 window = random.vec3(1, 9);
    const PatchGrid grid = make_window_grid(output, window, 0.1 * static_cast<double>(random.integer(0, 9)));
    std::vector<int> owned(static_cast<std::size_t>(voxels(output)));
    for (const GridPatch& patch : grid.patches) {
      ASSERT_TRUE(covers(patch.own_first, {}) && covers(window, patch.own_last));
      const Vec3 n = patch.own_last - patch.own_first;
      for (std::int64_t v = 0; v < voxels(n); ++v) {
        const Vec3 at = patch.start + patch.own_first + Vec3{v / (n.y * n.x), v / n.x % n.y, v % n.x};
        ++owned[static_cast<std::size_t>((at.z * output.y + at.y) * output.x + at.x)];
      }
    }
    EXPECT_THAT(owned, testing::Each(1));
    std::int64_t planes = 0;
    std::size_t patch = 0;
    for (const GridRow& row : grid.rows) {
      EXPECT_EQ(row.first_plane, planes);
      planes += row.planes;
      for (; patch < static_cast<std::size_t>(row.end); ++patch) {
        EXPECT_LE(grid.patches[patch].start.z, row.first_plane);
      }
      if (patch < grid.patches.size()) {
        EXPECT_EQ(grid.patches[patch].start.z, planes);
      }
    }
    EXPECT_EQ(planes, output.z);
    EXPECT_EQ(patch, grid.patches.size());
  }
}

}  // namespace
}  // namespace znni
