#include "server/rpc/volumes/slab_sender.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "server/rpc/volumes/volume_checks.hpp"
#include "server/rpc/volumes/volume_upload.hpp"
#include "tests/server/rpc/fake_model_server.hpp"

namespace znni::rpc {
namespace {

using namespace std::chrono_literals;

class SlabSenderTest : public testing::Test {
 protected:
  SlabSender sender(const VolumeShape& output, std::int64_t max_unsent_bytes = 1 << 30, std::int64_t first_plane = 0) {
    first_offset_ = first_plane * plane_bytes(output);
    const auto send = [this](const v1::VolumeResponse& response) { return receive(response); };
    return SlabSender(output, first_plane, blocks_, max_unsent_bytes, send, [this] { return now_; });
  }
  bool receive(const v1::VolumeResponse& response) {
    client_reads_.wait(false);
    if (client_gone_) return false;
    if (response.has_progress()) {
      progress_.push_back(response.progress());
      return true;
    }
    EXPECT_EQ(response.chunk().offset(), first_offset_ + static_cast<std::int64_t>(received_.size()));
    EXPECT_LE(static_cast<std::int64_t>(response.chunk().data().size()), max_chunk_bytes);
    received_ += response.chunk().data();
    ++chunks_;
    return true;
  }
  static void fill(const OutputSlab& slab, int value) {
    std::memset(slab.data, value, static_cast<std::size_t>(volume_bytes(slab.shape)));
  }

  FakeModelServer server_;
  SlabBlocks blocks_{server_};
  Pace::Time now_{};
  std::atomic<bool> client_gone_ = false;
  std::atomic<bool> client_reads_ = true;
  std::int64_t first_offset_ = 0;
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
  ASSERT_TRUE(sends.finish());
  EXPECT_EQ(received_, "aaaaaaaa");
  EXPECT_FALSE(sends.complete());
  ASSERT_TRUE(sends.deliver(second));
  ASSERT_TRUE(sends.finish());
  EXPECT_EQ(received_, "aaaaaaaabbbbbbbbbbbbbbbb");
  EXPECT_TRUE(sends.complete());
  EXPECT_EQ(sends.sent_bytes(), 24);
}

TEST_F(SlabSenderTest, BeginsWhereAnEarlierStreamEnded) {
  SlabSender sends = sender({1, {3, 2, 2}, ElementType::u8, VolumeOrder::plane_major}, 1 << 30, 2);
  const OutputSlab last = *sends.slab(2, 1);
  fill(last, 'c');
  EXPECT_FALSE(sends.complete());
  ASSERT_TRUE(sends.deliver(last));
  ASSERT_TRUE(sends.finish());
  EXPECT_EQ(received_, "cccc");
  EXPECT_EQ(sends.sent_bytes(), 4);
  EXPECT_TRUE(sends.complete());
}

TEST_F(SlabSenderTest, LargeSlabsTravelInPieces) {
  const VolumeShape output{1, {2, 1024, 1100}, ElementType::u8, VolumeOrder::plane_major};
  SlabSender sends = sender(output);
  const OutputSlab slab = *sends.slab(0, 2);
  fill(slab, 'c');
  ASSERT_TRUE(sends.deliver(slab));
  ASSERT_TRUE(sends.finish());
  EXPECT_EQ(chunks_, 3);
  EXPECT_EQ(received_, std::string(2 * 1024 * 1100, 'c'));
}

TEST_F(SlabSenderTest, AnAbandonedSlabIsNeverSent) {
  SlabSender sends = sender({1, {2, 2, 2}, ElementType::u8, VolumeOrder::plane_major});
  const OutputSlab lost = *sends.slab(0, 1);
  fill(lost, 'x');
  sends.abandon(lost);
  const OutputSlab whole = *sends.slab(0, 2);
  fill(whole, 'y');
  ASSERT_TRUE(sends.deliver(whole));
  ASSERT_TRUE(sends.finish());
  EXPECT_EQ(received_, "yyyyyyyy");
}

TEST_F(SlabSenderTest, AClientThatIsGoneEndsTheJob) {
  SlabSender sends = sender({1, {2, 2, 2}, ElementType::f32, VolumeOrder::plane_major});
  const OutputSlab slab = *sends.slab(0, 2);
  fill(slab, 0);
  client_gone_ = true;
  ASSERT_TRUE(sends.deliver(slab));
  EXPECT_EQ(sends.finish().error().code, ErrorCode::cancelled);
  EXPECT_FALSE(sends.complete());
  EXPECT_EQ(sends.slab(2, 1).error().code, ErrorCode::cancelled);
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
  ASSERT_TRUE(sends.finish());
  ASSERT_GE(progress_.size(), 2U);
  EXPECT_EQ(progress_.front().patches_done(), 1);
  EXPECT_EQ(progress_.front().planes_done(), 2);
  EXPECT_EQ(progress_.back().patches_done(), 50);
  EXPECT_EQ(progress_.back().patches(), 50);
}

TEST_F(SlabSenderTest, ProgressBetweenTheFirstAndTheLastIsSentAsTimeGoesBy) {
  SlabSender sends = sender({1, {4, 2, 2}, ElementType::u8, VolumeOrder::plane_major});
  for (int patch = 1; patch <= 9; ++patch) {
    sends.progress({patch, 9, 0});
    ASSERT_TRUE(sends.finish());
    now_ += 100ms;
  }
  std::vector<std::int64_t> told;
  for (const v1::VolumeProgress& each : progress_) told.push_back(each.patches_done());
  EXPECT_EQ(told, (std::vector<std::int64_t>{1, 3, 5, 7, 9}));
}

class SlowClientTest : public SlabSenderTest {
 protected:
  void SetUp() override { client_reads_ = false; }
  void TearDown() override { read(); }
  void read() {
    client_reads_ = true;
    client_reads_.notify_all();
  }
  // Returns how many slabs of 8 bytes the engine gets through while the client reads nothing; `reads` lets it read.
  std::int64_t slabs_until(SlabSender& sends, std::int64_t slabs, const std::atomic<bool>& reads) {
    for (std::int64_t i = 0; i < slabs; ++i) {
      const Result<OutputSlab> slab = sends.slab(i, 1);
      if (!slab || reads) return i;
      fill(*slab, 'a');
      if (!sends.deliver(*slab)) return i;
      ++delivered_;
    }
    return slabs;
  }
  std::atomic<int> delivered_ = 0;
  const VolumeShape output_{2, {9, 2, 2}, ElementType::u8, VolumeOrder::plane_major};
};

TEST_F(SlowClientTest, TheEngineGoesOnUntilTheBoundIsFull) {
  SlabSender sends = sender(output_, 32);
  // After four slabs of 8 bytes the fifth must wait for the first.
  const std::jthread later([this] {
    while (delivered_ < 4) std::this_thread::yield();
    std::this_thread::sleep_for(50ms);  // in which an engine that does not wait would go on
    read();
  });
  EXPECT_EQ(slabs_until(sends, 9, client_reads_), 4);
  EXPECT_EQ(server_.leased(), 32);
}

TEST_F(SlowClientTest, AllOfASmallOutputWaitsForIt) {
  SlabSender sends = sender(output_);
  EXPECT_EQ(slabs_until(sends, 9, client_reads_), 9);
  sends.progress({9, 9, 9});
  EXPECT_EQ(server_.leased(), 72);
  read();
  ASSERT_TRUE(sends.finish());
  EXPECT_TRUE(sends.complete());
  EXPECT_EQ(received_, std::string(72, 'a'));
  EXPECT_EQ(progress_.back().planes_done(), 9);
}

// The client reads once there is no memory for the third slab, which then has that of the first.
TEST_F(SlowClientTest, MemoryThatOthersHoldIsWaitedForNotRefused) {
  const Result<TransportLease> others = server_.lease((64 << 20) - 16);
  ASSERT_TRUE(others);
  SlabSender sends = sender(output_);
  std::atomic<int> refusals = 0;
  server_.after_refusal = [&] {
    ++refusals;
    read();
  };
  for (std::int64_t plane = 0; plane < 2; ++plane) {
    const OutputSlab slab = *sends.slab(plane, 1);
    fill(slab, 'a');
    ASSERT_TRUE(sends.deliver(slab));
  }
  EXPECT_EQ(refusals, 0);
  const Result<OutputSlab> third = sends.slab(2, 1);
  ASSERT_TRUE(third) << third.error().message;
  EXPECT_EQ(refusals, 1) << "the client has read all before the slab is asked for again";
  EXPECT_EQ(server_.leased(), 64 << 20);
  sends.abandon(*third);
}

TEST_F(SlowClientTest, ProgressDoesNotPileUp) {
  SlabSender sends = sender(output_);
  for (int patch = 1; patch <= 5; ++patch) {
    sends.progress({patch, 9, 0});
    now_ += 210ms;
  }
  read();
  ASSERT_TRUE(sends.finish());
  EXPECT_EQ(progress_.size(), 1U);
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
