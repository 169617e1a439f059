#include "server/pipeline/job/slab_queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/pipeline/engine_bench.hpp"

namespace znni {
namespace {

using test::JobOutcome;
using testing::ElementsAre;
using testing::HasSubstr;

// 2 x 1 x 2 patches and a half along z: dense 5 x 2 x 4 in patches of 2.
class SlabQueueTest : public testing::Test {
 protected:
  static constexpr Vec3 fov = Vec3::cube(3);
  const Shape5 output_{1, 2, {5, 2, 4}};
  const PatchGrid grid_ = make_patch_grid(output_.n + fov - Vec3::cube(1), Vec3::cube(4), fov);
  JobOutcome outcome_;
  VolumeJob job_ = test::recorded_job({}, output_, ElementType::f32, VolumeOrder::channel_major, outcome_);
  SlabQueue queue_{job_, grid_, output_};
};

TEST_F(SlabQueueTest, OpensEachRowOnceAndDeliversItWhenItsLastPatchIsDone) {
  ASSERT_EQ(grid_.patches.size(), 6U);
  ASSERT_EQ(grid_.rows.size(), 3U);
  const Result<OutputSlab> first = queue_.open_for(0);
  ASSERT_TRUE(first);
  EXPECT_EQ(queue_.open_for(1)->data, first->data);
  ASSERT_TRUE(queue_.deliver(1));
  EXPECT_EQ(queue_.planes_done(), 0);
  ASSERT_TRUE(queue_.deliver(2));
  EXPECT_EQ(queue_.planes_done(), 2);
  EXPECT_THAT(outcome_.calls, ElementsAre("slab 0+2", "deliver 0+2"));
}

TEST_F(SlabQueueTest, SeveralRowsMayBeOpenAndAreDeliveredInOrder) {
  for (std::int64_t i = 0; i < 5; ++i) ASSERT_TRUE(queue_.open_for(i));
  ASSERT_TRUE(queue_.deliver(4));
  ASSERT_TRUE(queue_.open_for(5));
  ASSERT_TRUE(queue_.deliver(6));
  EXPECT_THAT(outcome_.calls,
              ElementsAre("slab 0+2", "slab 2+2", "slab 4+1", "deliver 0+2", "deliver 2+2", "deliver 4+1"));
  EXPECT_EQ(queue_.planes_done(), 5);
}

TEST_F(SlabQueueTest, ABatchBehindTheLastPatchRepeatsItAndOwnsNothing) {
  std::vector<StitchTarget> targets(4);
  ASSERT_TRUE(queue_.aim(0, targets));
  EXPECT_EQ(targets[3].patch, grid_.patches[3]);
  EXPECT_EQ(targets[1].slab.first_plane, 0);
  EXPECT_EQ(targets[3].slab.first_plane, 2);
  ASSERT_TRUE(queue_.aim(4, targets));
  EXPECT_EQ(targets[1].patch, grid_.patches[5]);
  EXPECT_EQ(targets[1].slab.first_plane, 4);
  EXPECT_EQ(targets[3].patch.start, grid_.patches[5].start);
  EXPECT_EQ(targets[3].patch.own_last, targets[3].patch.own_first);
  EXPECT_THAT(outcome_.calls, ElementsAre("slab 0+2", "slab 2+2", "slab 4+1"));
}

TEST_F(SlabQueueTest, RefusesASlabOfAnotherShape) {
  const auto given = job_.sink.slab;
  job_.sink.slab = [&](std::int64_t first, std::int64_t planes) {
    Result<OutputSlab> slab = given(first, planes);
    slab->shape.n.x += 1;
    return slab;
  };
  const Result<OutputSlab> wide = queue_.open_for(0);
  ASSERT_FALSE(wide);
  EXPECT_EQ(wide.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(wide.error().message, HasSubstr("2 x 2x2x5; it must hold planes from 0 of 2 x 2x2x4"));
}

TEST_F(SlabQueueTest, RefusesASlabWithoutMemory) {
  job_.sink.slab = [&](std::int64_t first, std::int64_t planes) -> Result<OutputSlab> {
    return OutputSlab{first, nullptr, {2, {planes, 2, 4}}};
  };
  EXPECT_FALSE(queue_.open_for(0));
}

TEST_F(SlabQueueTest, AnErrorOfTheReceiverComesBack) {
  job_.sink.deliver = [](const OutputSlab&) -> Result<void> { return Error{ErrorCode::cancelled, "gone"}; };
  ASSERT_TRUE(queue_.open_for(0));
  const Result<void> delivered = queue_.deliver(2);
  ASSERT_FALSE(delivered);
  EXPECT_EQ(delivered.error().message, "gone");
  EXPECT_EQ(queue_.planes_done(), 0);
}

}  // namespace
}  // namespace znni
