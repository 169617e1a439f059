#include "server/rpc/slab_sender.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "server/rpc/volume_upload.hpp"
#include "tests/server/rpc/fake_model_server.hpp"

namespace znni::rpc {
namespace {

using namespace std::chrono_literals;

class SlabSenderTest : public testing::Test {
 protected:
  SlabSender sender(const VolumeShape& output) {
    return SlabSender(output, blocks_, [this](const v1::VolumeResponse& response) {
      if (client_gone_) return false;
      if (response.has_progress()) {
        progress_.push_back(response.progress());
        return true;
      }
      EXPECT_EQ(response.chunk().offset(), static_cast<std::int64_t>(received_.size()));
      EXPECT_LE(static_cast<std::int64_t>(response.chunk().data().size()), most_chunk_bytes);
      received_ += response.chunk().data();
      ++chunks_;
      return true;
    });
  }
  static void fill(const OutputSlab& slab, int value) {
    std::memset(slab.data, value, static_cast<std::size_t>(volume_bytes(slab.shape)));
  }

  FakeModelServer server_;
  SlabBlocks blocks_{server_};
  bool client_gone_ = false;
  std::string received_;
  int chunks_ = 0;
  std::vector<v1::VolumeProgress> progress_;
};

TEST_F(SlabSenderTest, SendsSlabsInOrder) {
  const VolumeShape output{2, {3, 2, 2}, ElementType::u8, VolumeOrder::plane_major};
  SlabSender sends = sender(output);
  const OutputSlab first = *sends.slab(0, 1);
  const OutputSlab second = *sends.slab(1, 2);
  EXPECT_EQ(second.shape.n, (Vec3{2, 2, 2}));
  EXPECT_EQ(second.shape.order, VolumeOrder::plane_major);
  fill(first, 'a');
  fill(second, 'b');
  ASSERT_TRUE(sends.deliver(first));
  EXPECT_EQ(received_, "aaaaaaaa");
  EXPECT_FALSE(sends.complete());
  ASSERT_TRUE(sends.deliver(second));
  EXPECT_EQ(received_, "aaaaaaaabbbbbbbbbbbbbbbb");
  EXPECT_TRUE(sends.complete());
  EXPECT_EQ(sends.sent_bytes(), 24);
}

TEST_F(SlabSenderTest, LargeSlabsTravelInPieces) {
  const VolumeShape output{1, {2, 1024, 1100}, ElementType::u8, VolumeOrder::plane_major};
  SlabSender sends = sender(output);
  const OutputSlab slab = *sends.slab(0, 2);
  fill(slab, 'c');
  ASSERT_TRUE(sends.deliver(slab));
  EXPECT_EQ(chunks_, 3);
  EXPECT_EQ(received_, std::string(2 * 1024 * 1100, 'c'));
}

TEST_F(SlabSenderTest, AClientThatIsGoneEndsTheJob) {
  SlabSender sends = sender({1, {2, 2, 2}, ElementType::f32, VolumeOrder::plane_major});
  const OutputSlab slab = *sends.slab(0, 2);
  fill(slab, 0);
  client_gone_ = true;
  EXPECT_EQ(sends.deliver(slab).error().code, ErrorCode::cancelled);
  EXPECT_FALSE(sends.complete());
}

TEST_F(SlabSenderTest, PlanesOutOfOrderAreABugOfTheEngine) {
  SlabSender sends = sender({1, {2, 2, 2}, ElementType::f32, VolumeOrder::plane_major});
  const OutputSlab slab = *sends.slab(1, 1);
  EXPECT_EQ(sends.deliver(slab).error().code, ErrorCode::internal);
}

TEST_F(SlabSenderTest, ProgressTellsWhatWasSent) {
  SlabSender sends = sender({1, {4, 2, 2}, ElementType::u8, VolumeOrder::plane_major});
  const OutputSlab slab = *sends.slab(0, 2);
  fill(slab, 0);
  ASSERT_TRUE(sends.deliver(slab));
  sends.progress({1, 50, 2});
  for (int patch = 2; patch <= 50; ++patch) sends.progress({patch, 50, 2});
  ASSERT_GE(progress_.size(), 2U);
  EXPECT_EQ(progress_.front().patches_done(), 1);
  EXPECT_EQ(progress_.front().planes_done(), 2);
  EXPECT_EQ(progress_.back().patches_done(), 50);
  EXPECT_EQ(progress_.back().patches(), 50);
}

TEST(Pace, LetsOneThroughPerInterval) {
  Pace pace(200ms);
  const Pace::Time start{};
  EXPECT_TRUE(pace.due(start));
  EXPECT_FALSE(pace.due(start + 199ms));
  EXPECT_TRUE(pace.due(start + 200ms));
  EXPECT_FALSE(pace.due(start + 399ms));
  EXPECT_TRUE(pace.due(start + 900ms));
}

}  // namespace
}  // namespace znni::rpc
