#include "server/pipeline/job/resumable_job.hpp"

#include <gtest/gtest.h>

namespace znni {
namespace {

class ResumableJobTest : public testing::Test {
 protected:
  ResumableJobTest() {
    whole_.sink.slab = [this](std::int64_t first_plane, std::int64_t planes) -> Result<OutputSlab> {
      calls_ += "slab " + std::to_string(first_plane) + ";";
      if (first_plane == refused_) return Error{ErrorCode::over_budget, "no room"};
      OutputSlab slab{first_plane, &byte_, {}};
      slab.shape.n = {planes, 1, 1};
      return slab;
    };
    whole_.sink.deliver = [this](const OutputSlab& slab) -> Result<void> {
      calls_ += "deliver " + std::to_string(slab.first_plane) + ";";
      return {};
    };
    whole_.sink.abandon = [this](const OutputSlab& slab) {
      calls_ += "abandon " + std::to_string(slab.first_plane) + ";";
    };
  }

  VolumeJob whole_;
  std::byte byte_{};
  std::int64_t refused_ = -1;
  std::string calls_;
};

TEST_F(ResumableJobTest, GoesOnBehindWhatWasDelivered) {
  whole_.sink.first_plane = 2;
  ResumableJob resumable(whole_);
  const VolumeJob& job = resumable.job();
  EXPECT_EQ(job.sink.first_plane, 2);
  const OutputSlab first = job.sink.slab(2, 3).value();
  ASSERT_TRUE(job.sink.slab(5, 3));
  ASSERT_TRUE(job.sink.deliver(first));
  EXPECT_EQ(job.sink.first_plane, 2);
  resumable.go_back();
  EXPECT_EQ(job.sink.first_plane, 5);
  EXPECT_EQ(calls_, "slab 2;slab 5;deliver 2;abandon 5;");
  resumable.go_back();
  EXPECT_EQ(calls_, "slab 2;slab 5;deliver 2;abandon 5;");
}

// One rung runs after the other, and the second wants fewer planes at a time.
TEST_F(ResumableJobTest, WhatWasWantedOnceStaysWanted) {
  class Noted final : public PlaneSource {
   public:
    [[nodiscard]] const VolumeShape& shape() const override { return shape_; }
    void want(const PlaneRange& planes) override { wanted.push_back(planes); }
    [[nodiscard]] bool here() const override { return true; }
    [[nodiscard]] Result<void> wait(const std::stop_token& /*stop*/) override { return {}; }
    [[nodiscard]] const std::byte* plane(std::int64_t /*channel*/, std::int64_t /*z*/) const override {
      return nullptr;
    }
    std::vector<PlaneRange> wanted;

   private:
    VolumeShape shape_;
  };
  Noted source;
  whole_.input.source = &source;
  ResumableJob resumable(whole_);
  PlaneSource& given = *resumable.job().input.source;
  given.want({2, 9});
  given.want({3, 7});
  given.want({4, 11});
  EXPECT_EQ(source.wanted, (std::vector<PlaneRange>{{2, 9}, {3, 9}, {4, 11}}));
  EXPECT_TRUE(given.here());
  EXPECT_TRUE(given.wait({}));
}

TEST_F(ResumableJobTest, WhatWasRefusedIsNotGivenBack) {
  refused_ = 0;
  ResumableJob resumable(whole_);
  EXPECT_FALSE(resumable.job().sink.slab(0, 1));
  resumable.go_back();
  EXPECT_EQ(calls_, "slab 0;");
  EXPECT_EQ(resumable.job().sink.first_plane, 0);
}

TEST_F(ResumableJobTest, ACallerNeedNotWantAnythingBack) {
  whole_.sink.abandon = {};
  ResumableJob resumable(whole_);
  ASSERT_TRUE(resumable.job().sink.slab(0, 1));
  resumable.go_back();
  EXPECT_EQ(calls_, "slab 0;");
}

TEST_F(ResumableJobTest, TellsNoVoxelTwiceThatIsComputedOnceMore) {
  JobGain all;
  whole_.account.gained = [&all](const JobGain& gain) {
    EXPECT_GE(gain.voxels, 0);
    all.patches += gain.patches;
    all.voxels += gain.voxels;
    all.stages += gain.stages;
  };
  ResumableJob resumable(whole_);
  const VolumeJob& job = resumable.job();
  const auto computed = [&job](std::int64_t voxels) { job.account.gained({1, voxels, {0, 2, 0, 0, {}}}); };
  computed(3);
  ASSERT_TRUE(job.sink.deliver(job.sink.slab(0, 3).value()));
  computed(2);
  computed(2);
  EXPECT_EQ(all.voxels, 7);
  resumable.go_back();  // to the fourth
  computed(3);
  EXPECT_EQ(all.voxels, 7);
  computed(3);
  EXPECT_EQ(all.voxels, 9);
  EXPECT_EQ(all.patches, 5) << "all that was computed";
  EXPECT_EQ(all.stages.head, 10);
}

TEST_F(ResumableJobTest, ACallerNeedNotWantToKnowWhatIsComputed) {
  EXPECT_FALSE(ResumableJob(whole_).job().account.gained);
}

}  // namespace
}  // namespace znni
