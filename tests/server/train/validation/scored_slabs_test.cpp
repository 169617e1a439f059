#include "server/train/validation/scored_slabs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/server/train/volumes.hpp"

namespace znni {
namespace {

using testing::HasSubstr;

// Labels 0 and 1 of 5 x 6 x 70 voxels; an output of 4 x 5 x 69 begins one voxel behind the volume's first.
class ScoredSlabsTest : public testing::Test {
 protected:
  ScoredSlabsTest() {
    labels_ = test::some_voxels<std::uint8_t>(voxels(n_), 2);
    test::write_volume(name_, n_, labels_);
    VolumeMemory memory;
    volume_ = std::make_unique<LabelledVolume>(LabelledVolume::open({name_, name_, ""}, memory).value());
  }

  // Writes the labels of its voxels into a slab, and `added`.
  void fill(const OutputSlab& slab, float added) const {
    auto* to = reinterpret_cast<float*>(slab.data);
    const Vec3 n = slab.shape.n;
    for (std::int64_t i = 0; i < voxels(n); ++i) {
      const Vec3 v = Vec3{i / n.x / n.y + slab.first_plane, i / n.x % n.y, i % n.x} + before_;
      *to++ = static_cast<float>(labels_[static_cast<std::size_t>((v.z * n_.y + v.y) * n_.x + v.x)]) + added;
    }
  }

  const Vec3 n_ = {5, 6, 70};
  const Vec3 before_ = {1, 1, 1};
  const VolumeShape output_ = {1, {4, 5, 69}, ElementType::f32, VolumeOrder::plane_major};
  client::Scratch scratch_;
  std::string name_ = scratch_.file("labels.npy");
  std::vector<std::uint8_t> labels_;
  std::unique_ptr<LabelledVolume> volume_;
  Loss loss_ = Loss::make({LossKind::square, {}}, Probability::none, 1).value();
  ValidationScores scores_{loss_, false};
  std::mutex reading_;
};

TEST_F(ScoredSlabsTest, EachVoxelIsComparedWithItsOwnTarget) {
  ScoredSlabs slabs({*volume_, TargetKind::classes, before_, loss_}, output_, scores_, reading_);
  const OutputSlab first = slabs.take(0, 3);
  const OutputSlab second = slabs.take(3, 1);
  fill(first, 0.5F);
  fill(second, 0.5F);
  ASSERT_TRUE(slabs.compare(first));
  ASSERT_TRUE(slabs.compare(second));
  EXPECT_EQ(scores_.voxels(), voxels(output_.n));
  EXPECT_DOUBLE_EQ(scores_.score().loss, 0.25);
}

TEST_F(ScoredSlabsTest, OneThatIsAbandonedDoesNotCount) {
  ScoredSlabs slabs({*volume_, TargetKind::classes, before_, loss_}, output_, scores_, reading_);
  slabs.abandon(slabs.take(0, 2));
  EXPECT_EQ(scores_.voxels(), 0);
}

TEST_F(ScoredSlabsTest, ErrorsNameTheVoxels) {
  ScoredSlabs slabs({*volume_, TargetKind::classes, before_, loss_}, output_, scores_, reading_);
  const OutputSlab slab = slabs.take(2, 1);
  fill(slab, std::nanf(""));
  const Result<void> refused = slabs.compare(slab);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr(name_ + ": voxels 3:4,1:6,1:70: the network writes NaN"));
}

TEST_F(ScoredSlabsTest, WideOutputsAreComparedInBands) {
  EXPECT_LT(ScoredSlabs::working_bytes({1, {9, 100000, 1000}}), std::int64_t{16} << 20);
  EXPECT_GT(ScoredSlabs::working_bytes({1, {9, 1, 1}}), 0);
}

}  // namespace
}  // namespace znni
