#include "server/pipeline/job/job_patches.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/server/pipeline/engine_bench.hpp"

namespace znni {
namespace {

using testing::ElementsAre;

// Says what is wanted of it; has planes from the first wait on.
class ToldSource final : public PlaneSource {
 public:
  ToldSource(const VolumeShape& shape, std::vector<std::string>& calls) : shape_(shape), calls_(calls) {}

  [[nodiscard]] const VolumeShape& shape() const override { return shape_; }
  void want(const PlaneRange& planes) override {
    calls_.push_back("want " + std::to_string(planes.first) + " to " + std::to_string(planes.last));
  }
  [[nodiscard]] bool here() const override { return here_; }
  [[nodiscard]] Result<void> wait(const std::stop_token& /*stop*/) override {
    here_ = true;
    return {};
  }
  [[nodiscard]] const std::byte* plane(std::int64_t /*channel*/, std::int64_t /*z*/) const override { return nullptr; }

 private:
  VolumeShape shape_;
  std::vector<std::string>& calls_;
  bool here_ = false;
};

// A row at a time, of which nothing is computed.
class RowByRow final : public PatchStrategy {
 public:
  RowByRow(JobPatches& patches, std::int64_t row)
      : patches_(patches), row_(row), targets_(static_cast<std::size_t>(row)) {}

  [[nodiscard]] std::int64_t next() const override { return patches_.done(); }
  void want_next() override { patches_.want(next(), next() + row_); }
  Result<void> run(const std::stop_token& stop) override {
    if (Result<void> came = patches_.wait(stop); !came) return came;
    if (next() == fails_at) return Error{ErrorCode::device_failure, "it was made to fail"};
    if (Result<void> aimed = patches_.aim(next(), targets_); !aimed) return aimed;
    ++seconds_;
    patches_.tell_under_way(0.5);
    return patches_.deliver(next() + row_, stages());
  }
  StageSeconds stages() override { return {0, seconds_, 0, 0, {}}; }

  std::int64_t fails_at = -1;

 private:
  JobPatches& patches_;
  std::int64_t row_;
  std::vector<StitchTarget> targets_;
  Seconds seconds_ = 0;
};

// 3 rows of 2 patches, of which the last two rows are one stream: dense 5 x 2 x 4 in patches of 2.
class JobPatchesTest : public testing::Test {
 protected:
  JobPatchesTest() {
    geometry_.patch_input = Vec3::cube(4);
    geometry_.patch_output = Vec3::cube(2);
    geometry_.passes.resize(1);
    grid_.patches[4].continues = true;
    job_.schedule.between_patches = [this](const Interval& interval) {
      outcome_.calls.emplace_back(interval.within_stream ? "others, of few" : "others");
      return Result<void>();
    };
  }

  // Runs the job; the calls are in `outcome_`.
  Result<void> run(std::int64_t fails_at = -1) {
    const VolumeShape input{1, output_.n + fov - Vec3::cube(1), ElementType::f32, VolumeOrder::channel_major};
    ToldSource source(input, outcome_.calls);
    JobPatches patches(job_, grid_, geometry_, output_, InputWindow(source, grid_, geometry_));
    RowByRow strategy(patches, 2);
    strategy.fails_at = fails_at;
    return patches.run(strategy, {});
  }

  static constexpr Vec3 fov = Vec3::cube(3);
  const Shape5 output_{1, 2, {5, 2, 4}};
  PatchGrid grid_ = make_patch_grid(output_.n + fov - Vec3::cube(1), Vec3::cube(4), fov);
  Geometry geometry_;
  test::JobOutcome outcome_;
  VolumeJob job_ = test::recorded_job({}, output_, ElementType::f32, VolumeOrder::channel_major, outcome_);
};

TEST_F(JobPatchesTest, OthersRunBeforePlanesAreHereAndBetweenPatches) {
  ASSERT_TRUE(run());
  EXPECT_THAT(outcome_.calls, ElementsAre("want 0 to 4", "others", "slab 0+2", "deliver 0+2", "done 2/6 2",
                                          "want 2 to 6", "others", "slab 2+2", "deliver 2+2", "done 4/6 4",
                                          "want 3 to 7", "others, of few", "slab 4+1", "deliver 4+1", "done 6/6 5"));
  EXPECT_THAT(outcome_.under_way, ElementsAre(0.5, 0.5, 0.5));
  EXPECT_EQ(outcome_.gained.patches, 6);
  EXPECT_EQ(outcome_.gained.voxels, voxels(output_.n));
  EXPECT_EQ(outcome_.gained.stages.head, 3);
}

TEST_F(JobPatchesTest, RunsThroughWithoutOthers) {
  job_.schedule.between_patches = nullptr;
  ASSERT_TRUE(run());
  EXPECT_THAT(outcome_.calls.front(), "want 0 to 4");
  EXPECT_EQ(outcome_.calls.back(), "done 6/6 5");
  EXPECT_EQ(outcome_.gained.patches, 6);
}

TEST_F(JobPatchesTest, AnErrorOfTheOthersEndsTheJob) {
  int turns = 0;
  job_.schedule.between_patches = [&](const Interval&) -> Result<void> {
    return ++turns < 2 ? Result<void>() : Error{ErrorCode::cancelled, "no more"};
  };
  const Result<void> ran = run();
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, ErrorCode::cancelled);
  EXPECT_EQ(outcome_.gained.patches, 2);
}

TEST_F(JobPatchesTest, WhatWasGainedBeforeAFailureIsTold) {
  const Result<void> ran = run(2);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, ErrorCode::device_failure);
  EXPECT_EQ(outcome_.gained.patches, 2);
  EXPECT_EQ(outcome_.gained.stages.head, 1);
}

TEST_F(JobPatchesTest, BehindTheLastPatchItIsRepeated) {
  WholeVolume source({nullptr, {1, output_.n + fov - Vec3::cube(1), ElementType::f32, VolumeOrder::channel_major}});
  const JobPatches patches(job_, grid_, geometry_, output_, InputWindow(source, grid_, geometry_));
  EXPECT_EQ(patches.count(), 6);
  EXPECT_EQ(patches.patch(3), grid_.patches[3]);
  EXPECT_EQ(patches.patch(7), grid_.patches[5]);
}

}  // namespace
}  // namespace znni
