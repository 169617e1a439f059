#include "server/pipeline/job/gain_meter.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace znni {
namespace {

// Returns a patch that owns so many voxels.
GridPatch patch_of(std::int64_t voxels) {
  GridPatch patch;
  patch.own_first = {1, 0, 0};
  patch.own_last = {2, 1, voxels};
  return patch;
}

class GainMeterTest : public testing::Test {
 protected:
  GainMeterTest() {
    job_.account.gained = [this](const JobGain& gain) { gains_.push_back(gain); };
  }

  VolumeJob job_;
  PatchGrid grid_;
  std::vector<JobGain> gains_;
};

TEST_F(GainMeterTest, TellsWhatIsNewSinceItToldLast) {
  grid_.patches = {patch_of(7), patch_of(0), patch_of(5)};
  GainMeter meter(job_, grid_, 1);
  meter.tell(1, {1, 2, 3, 4, {9}});
  meter.tell(3, {2, 4, 6, 8, {18}});
  meter.tell(3, {2, 4, 6, 9, {20}});
  ASSERT_EQ(gains_.size(), 3U);
  EXPECT_EQ(gains_[0].patches, 1);
  EXPECT_EQ(gains_[0].voxels, 7);
  EXPECT_EQ(gains_[0].stages.tail, 3);
  EXPECT_TRUE(gains_[0].stages.layers.empty());
  EXPECT_EQ(gains_[1].patches, 2);
  EXPECT_EQ(gains_[1].voxels, 5);
  EXPECT_EQ(gains_[1].stages.gather, 1);
  EXPECT_EQ(gains_[1].stages.head, 2);
  EXPECT_EQ(gains_[2].patches, 0);
  EXPECT_EQ(gains_[2].voxels, 0);
  EXPECT_EQ(gains_[2].stages.stitch, 1);
}

// Steps of one phase may be cut otherwise than those of another.
TEST_F(GainMeterTest, OfSeveralPhasesEachVoxelCountsOnce) {
  grid_.patches = {patch_of(5), patch_of(6), patch_of(8), patch_of(3), patch_of(4), patch_of(7)};
  GainMeter meter(job_, grid_, 3);
  std::int64_t voxels = 0;
  for (std::int64_t done = 1; done <= 6; ++done) {
    meter.tell(done, {});
    voxels += gains_.back().voxels;
    EXPECT_GT(gains_.back().voxels, 0);
  }
  EXPECT_EQ(voxels, 11);
}

TEST_F(GainMeterTest, AJobNeedNotWantToKnow) {
  grid_.patches = {patch_of(5)};
  job_.account.gained = {};
  GainMeter(job_, grid_, 1).tell(1, {});
  EXPECT_TRUE(gains_.empty());
}

}  // namespace
}  // namespace znni
