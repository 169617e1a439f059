#include "server/train/samples/targets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/random.hpp"

namespace znni {
namespace {

using testing::Each;
using testing::ElementsAre;

LabelPatch patch_of(Vec3 n, std::vector<std::uint64_t> labels) {
  LabelPatch patch{n, std::move(labels), {}};
  patch.known.assign(patch.labels.size(), 1);
  return patch;
}

// A row of labels along x, in a block of the same ones along z and y.
LabelPatch row(const std::vector<std::uint64_t>& labels) {
  std::vector<std::uint64_t> block;
  for (int i = 0; i < 9; ++i) block.insert(block.end(), labels.begin(), labels.end());
  return patch_of({3, 3, static_cast<std::int64_t>(labels.size())}, block);
}

std::size_t at(const LabelPatch& patch, std::int64_t z, std::int64_t y, std::int64_t x) {
  return static_cast<std::size_t>((z * patch.n.y + y) * patch.n.x + x);
}

TEST(TrainTargets, ClassesAreTheLabels) {
  LabelPatch patch = row({1, 0, 5, 7, 2});
  patch.known[at(patch, 1, 1, 3)] = 0;
  const Targets targets = targets_of(TargetKind::classes, patch);
  EXPECT_THAT(targets.values, ElementsAre(0, 5, 0));
  EXPECT_THAT(targets.weights, ElementsAre(1, 1, 0));
}

TEST(TrainTargets, VoxelsHaveTheirWeights) {
  LabelPatch patch = row({4, 4, 4, 9, 9});
  patch.weights.assign(patch.labels.size(), 1);
  patch.weights[at(patch, 1, 1, 1)] = 0.25F;
  patch.weights[at(patch, 1, 1, 3)] = 0;
  for (const TargetKind kind : {TargetKind::classes, TargetKind::boundaries, TargetKind::affinities}) {
    EXPECT_THAT(targets_of(kind, patch).weights, ElementsAre(0.25F, 1, 0));
  }
  EXPECT_THAT(targets_of(TargetKind::boundaries, patch).values, ElementsAre(0, 1, 1))
      << "a label without weight is one";
  patch.known[at(patch, 1, 1, 1)] = 0;
  EXPECT_THAT(targets_of(TargetKind::classes, patch).weights, ElementsAre(0, 1, 0));
}

TEST(TrainTargets, StridedOnesAreTheFirstAndEveryStrideBehindIt) {
  const Vec3 n{3, 5, 4};
  const Vec3 stride{2, 3, 1};
  EXPECT_EQ(strided(n, stride), (Vec3{2, 2, 4}));
  Targets targets{std::vector<float>(3 * 60), std::vector<float>(60)};
  for (std::size_t i = 0; i < 180; ++i) targets.values[i] = static_cast<float>(i);
  for (std::size_t i = 0; i < 60; ++i) targets.weights[i] = static_cast<float>(i);
  const Targets kept = strided(targets, n, stride);
  EXPECT_THAT(kept.weights, ElementsAre(0, 1, 2, 3, 12, 13, 14, 15, 40, 41, 42, 43, 52, 53, 54, 55));
  ASSERT_EQ(kept.values.size(), 48U);
  for (std::size_t i = 0; i < 48; ++i)
    EXPECT_EQ(kept.values[i], 60 * static_cast<float>(i / 16) + kept.weights[i % 16]);
}

TEST(TrainTargets, BoundariesLieOnBothSidesAndWhereTheLabelIs0) {
  const Targets targets = targets_of(TargetKind::boundaries, row({4, 4, 4, 9, 9, 0, 9, 9, 9}));
  EXPECT_THAT(targets.values, ElementsAre(0, 1, 1, 1, 1, 1, 0));
  EXPECT_THAT(targets.weights, Each(1));
}

TEST(TrainTargets, NeighboursThatAreNotKnownMakeNoBoundary) {
  LabelPatch patch = row({4, 4, 9, 9});
  for (std::int64_t i = 0; i < 9; ++i) patch.known[at(patch, i / 3, i % 3, 2)] = 0;
  const Targets targets = targets_of(TargetKind::boundaries, patch);
  EXPECT_THAT(targets.values, ElementsAre(0, 0));
  EXPECT_THAT(targets.weights, ElementsAre(1, 0));
}

// The definition of docs/training, which compares neighbours along each axis.
TEST(TrainTargets, BoundariesAreThoseOfAllSixNeighbours) {
  test::Random random(test::base_seed());
  const Vec3 n{4, 5, 6};
  std::vector<std::uint64_t> labels;
  for (std::int64_t i = 0; i < voxels(n); ++i) labels.push_back(static_cast<std::uint64_t>(random.integer(0, 2)));
  const LabelPatch patch = patch_of(n, labels);
  std::vector<float> wanted;
  for (std::int64_t z = 1; z < 3; ++z) {
    for (std::int64_t y = 1; y < 4; ++y) {
      for (std::int64_t x = 1; x < 5; ++x) {
        const std::uint64_t own = labels[at(patch, z, y, x)];
        bool differs = own == 0;
        for (const std::int64_t step : {-1, 1}) {
          differs = differs || labels[at(patch, z + step, y, x)] != own || labels[at(patch, z, y + step, x)] != own ||
                    labels[at(patch, z, y, x + step)] != own;
        }
        wanted.push_back(differs ? 1.0F : 0.0F);
      }
    }
  }
  EXPECT_EQ(targets_of(TargetKind::boundaries, patch).values, wanted);
}

TEST(TrainTargets, AffinitiesJoinAVoxelToTheOneBeforeIt) {
  EXPECT_EQ(target_channels(TargetKind::affinities), 3);
  const Targets targets = targets_of(TargetKind::affinities, row({4, 4, 9, 9, 0, 0, 3}));
  EXPECT_THAT(targets.values, ElementsAre(1, 1, 1, 0, 0, /* y */ 1, 1, 1, 0, 0, /* x */ 1, 0, 1, 0, 0));
  EXPECT_THAT(targets.weights, Each(1));
}

TEST(TrainTargets, AffinitiesToWhatIsNotKnownAreNotKnown) {
  for (const Vec3 before : {Vec3{0, 1, 2}, Vec3{1, 0, 2}, Vec3{1, 1, 1}, Vec3{1, 1, 2}}) {
    LabelPatch patch = row({4, 4, 4, 4});
    patch.known[at(patch, before.z, before.y, before.x)] = 0;
    EXPECT_EQ(targets_of(TargetKind::affinities, patch).weights[1], 0) << to_string(before);
  }
  LabelPatch patch = row({4, 4, 4, 4});
  patch.known[at(patch, 2, 1, 2)] = 0;
  EXPECT_THAT(targets_of(TargetKind::affinities, patch).weights, Each(1));
}

}  // namespace
}  // namespace znni
