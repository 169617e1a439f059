#include "server/train/samples/augmentation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "server/train/samples/targets.hpp"
#include "tests/support/random.hpp"

namespace znni {
namespace {

using testing::Each;
using testing::ElementsAre;

std::size_t place(Vec3 n, Vec3 v) { return static_cast<std::size_t>((v.z * n.y + v.y) * n.x + v.x); }

std::vector<float> counted(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}

// All symmetries of a cube.
std::vector<Symmetry> all_symmetries() {
  std::vector<Symmetry> all;
  std::array<int, 3> axes = {0, 1, 2};
  do {
    for (std::int64_t bits = 0; bits < 8; ++bits) all.push_back({axes, {bits & 1, bits >> 1 & 1, bits >> 2}});
  } while (std::next_permutation(axes.begin(), axes.end()));
  return all;
}

Symmetry drawn(const AugmentationOptions& options, Vec3 patch, Vec3 output, std::uint64_t step) {
  CounterRandom random(1, step, RandomStream::symmetry);
  return draw_symmetry(options, patch, output, random);
}

std::set<std::vector<float>> forms(Vec3 patch, Vec3 output) {
  std::set<std::vector<float>> found;
  for (std::uint64_t step = 0; step < 2000; ++step) {
    const Symmetry symmetry = drawn({true, 0, 0, 0, 0}, patch, output, step);
    found.insert(turned<float>(counted(voxels(patch)), patch, symmetry));
  }
  return found;
}

TEST(TrainAugmentation, ACubeHas48Symmetries) { EXPECT_EQ(forms(Vec3::cube(3), Vec3::cube(2)).size(), 48U); }

TEST(TrainAugmentation, AxesAreSwappedWhereBothExtentsAreEqual) {
  EXPECT_EQ(forms({2, 3, 3}, {1, 2, 2}).size(), 16U);
  EXPECT_EQ(forms({2, 3, 4}, {1, 2, 3}).size(), 8U);
  EXPECT_EQ(forms({3, 3, 3}, {1, 2, 3}).size(), 8U);
}

TEST(TrainAugmentation, WithoutSymmetriesNothingIsTurned) {
  for (std::uint64_t step = 0; step < 10; ++step) {
    EXPECT_EQ(drawn({}, Vec3::cube(3), Vec3::cube(3), step), Symmetry{});
  }
}

TEST(TrainAugmentation, AVoxelGoesWhereTheSymmetrySays) {
  const Vec3 n{2, 3, 4};
  const std::vector<float> values = counted(2 * voxels(n));
  const Symmetry symmetry{{2, 0, 1}, {1, 0, 1}};  // z' = x in reverse, y' = z in reverse, x' = y
  const std::vector<float> result = turned<float>(values, n, symmetry);
  const Vec3 out{4, 2, 3};
  for (std::int64_t z = 0; z < 2; ++z) {
    for (std::int64_t y = 0; y < 3; ++y) {
      for (std::int64_t x = 0; x < 4; ++x) {
        const std::size_t to = place(out, {3 - x, 1 - z, y});
        EXPECT_EQ(result[to], values[place(n, {z, y, x})]);
        EXPECT_EQ(result[to + 24], values[place(n, {z, y, x}) + 24]);
      }
    }
  }
}

LabelPatch random_labels(Vec3 n) {
  test::Random random(test::base_seed());
  LabelPatch patch{n, {}, {}};
  for (std::int64_t i = 0; i < voxels(n); ++i) {
    patch.labels.push_back(static_cast<std::uint64_t>(random.integer(0, 2)));
    patch.known.push_back(random.chance(0.9) ? 1 : 0);
  }
  return patch;
}

LabelPatch turned_patch(const LabelPatch& patch, const Symmetry& symmetry) {
  return {patch.n, turned<std::uint64_t>(patch.labels, patch.n, symmetry),
          turned<std::uint8_t>(patch.known, patch.n, symmetry)};
}

TEST(TrainAugmentation, BoundariesOfTurnedLabelsAreTheTurnedBoundaries) {
  const LabelPatch patch = random_labels(Vec3::cube(6));
  const Targets targets = targets_of(TargetKind::boundaries, patch);
  for (const Symmetry& symmetry : all_symmetries()) {
    const Targets found = targets_of(TargetKind::boundaries, turned_patch(patch, symmetry));
    EXPECT_EQ(found.values, turned<float>(targets.values, Vec3::cube(4), symmetry));
    EXPECT_EQ(found.weights, turned<float>(targets.weights, Vec3::cube(4), symmetry));
  }
}

// The affinity of a turned voxel along an axis is that of the source's along the axis that this was, and where that is
// reversed it is the affinity of the voxel behind.
TEST(TrainAugmentation, AffinitiesOfTurnedLabelsChangeChannelsAndShift) {
  const std::int64_t n = 7;
  LabelPatch patch = random_labels(Vec3::cube(n));
  patch.known.assign(patch.known.size(), 1);
  const Vec3 inner = Vec3::cube(n - 2);
  const std::vector<float> source = targets_of(TargetKind::affinities, patch).values;
  for (const Symmetry& symmetry : all_symmetries()) {
    const std::vector<float> found = targets_of(TargetKind::affinities, turned_patch(patch, symmetry)).values;
    for (int i = 0; i < 3; ++i) {
      const int axis = symmetry.axes[static_cast<std::size_t>(i)];
      for (std::int64_t number = 0; number < voxels(inner); ++number) {
        const Vec3 to{number / (inner.y * inner.x), number / inner.x % inner.y, number % inner.x};
        Vec3 from;
        for (int j = 0; j < 3; ++j) {
          const int own = symmetry.axes[static_cast<std::size_t>(j)];
          from[own] = symmetry.reversed[own] != 0 ? inner[own] - 1 - to[j] : to[j];
        }
        from[axis] += symmetry.reversed[axis];
        if (from[axis] == inner[axis]) continue;  // behind the last voxel of the source's targets
        EXPECT_EQ(found[static_cast<std::size_t>(i * voxels(inner)) + place(inner, to)],
                  source[static_cast<std::size_t>(axis * voxels(inner)) + place(inner, from)]);
      }
    }
  }
}

TEST(TrainAugmentation, ToneIsAFactorAndASum) {
  CounterRandom random(1, 2, RandomStream::tone);
  std::vector<float> voxels = {0, 1, 2};
  change_tone({false, 0.5, 0.25, 0, 0}, random, voxels);
  CounterRandom again(1, 2, RandomStream::tone);
  const double factor = std::exp(0.5 * again.normal());
  const double more = 0.25 * again.normal();
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(voxels[static_cast<std::size_t>(i)], i * factor + more, 1e-6);
  EXPECT_NE(factor, 1);
  std::vector<float> same = {0, 1, 2};
  change_tone({}, random, same);
  EXPECT_THAT(same, ElementsAre(0, 1, 2));
}

TEST(TrainAugmentation, MissingPlanesAreZeroInAllChannels) {
  const Vec3 n{50, 2, 2};
  std::vector<float> voxels(400, 3.0F);
  CounterRandom random(1, 2, RandomStream::planes);
  damage_planes({false, 0, 0, 0.5, 0}, random, n, voxels);
  int missing = 0;
  for (std::size_t z = 0; z < 50; ++z) {
    const float first = voxels[z * 4];
    missing += first == 0 ? 1 : 0;
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(voxels[z * 4 + i], first);
      EXPECT_EQ(voxels[200 + z * 4 + i], first);
    }
  }
  EXPECT_GT(missing, 10);
  EXPECT_LT(missing, 40);
}

TEST(TrainAugmentation, ABlurKeepsTheSumAndSpreadsAlongYAndX) {
  const Vec3 n{1, 9, 9};
  std::vector<float> voxels(81);
  voxels[place(n, {0, 4, 4})] = 256;
  CounterRandom random(1, 2, RandomStream::planes);
  damage_planes({false, 0, 0, 0, 1}, random, n, voxels);
  const std::array<float, 5> taps = {1, 4, 6, 4, 1};
  for (std::int64_t y = 0; y < 5; ++y) {
    for (std::int64_t x = 0; x < 5; ++x) {
      EXPECT_EQ(voxels[place(n, {0, y + 2, x + 2})],
                taps[static_cast<std::size_t>(y)] * taps[static_cast<std::size_t>(x)]);
    }
  }
  std::vector<float> even(81, 5.0F);
  damage_planes({false, 0, 0, 0, 1}, random, n, even);
  EXPECT_THAT(even, Each(5.0F));
}

}  // namespace
}  // namespace znni
