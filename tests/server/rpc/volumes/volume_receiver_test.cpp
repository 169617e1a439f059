#include "server/rpc/volumes/volume_receiver.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <string>
#include <vector>

namespace znni::rpc {
namespace {

using namespace std::chrono_literals;

v1::VolumeRequest chunk(std::int64_t offset, const std::string& data) {
  v1::VolumeRequest request;
  request.mutable_chunk()->set_offset(offset);
  request.mutable_chunk()->set_data(data);
  return request;
}

class VolumeReceiverTest : public testing::Test {
 protected:
  // Receives a stream of these messages, which ends then, or says nothing until the client is let go.
  VolumeReceiver receiver(std::deque<v1::VolumeRequest> messages, bool silent = false) {
    return {ring_, 0, 12,
            [this, messages = std::move(messages), silent](v1::VolumeRequest& request) mutable {
              if (messages.empty()) {
                if (silent) over_.wait(false);
                return false;
              }
              request = messages.front();
              messages.pop_front();
              return true;
            },
            [this] { return reason_; }};
  }
  void let_go() {
    over_ = true;
    over_.notify_all();
  }

  // Four planes of three bytes, two at a time.
  std::vector<std::byte> memory_ = std::vector<std::byte>(6);
  PlaneRing ring_{memory_, {1, {4, 1, 3}, ElementType::u8, VolumeOrder::plane_major}};
  std::optional<Error> reason_;
  std::atomic<bool> over_ = false;
};

TEST_F(VolumeReceiverTest, FillsTheRingWhileItIsRead) {
  VolumeReceiver receiving = receiver({chunk(0, "abcde"), chunk(5, "fghijkl")});
  std::string read;
  for (std::int64_t z = 0; z < 4; ++z) {
    ring_.want({z, z + 1});
    ASSERT_TRUE(ring_.wait({}));
    read.append(reinterpret_cast<const char*>(ring_.plane(0, z)), 3);
  }
  EXPECT_EQ(read, "abcdefghijkl");
  ASSERT_TRUE(receiving.finish());
  EXPECT_EQ(receiving.received_bytes(), 12);
}

TEST_F(VolumeReceiverTest, WhoWaitsForPlanesGetsWhatIsWrongWithThem) {
  VolumeReceiver receiving = receiver({chunk(0, "abc"), chunk(4, "d")});
  ring_.want({0, 2});
  EXPECT_EQ(ring_.wait({}).error().message, "chunk offset 4 found, expected 3");
  EXPECT_EQ(receiving.finish().error().code, ErrorCode::invalid_argument);
}

TEST_F(VolumeReceiverTest, AnEarlyEndIsTooFewBytesOrAClientThatIsGone) {
  {
    VolumeReceiver receiving = receiver({chunk(0, "abc")});
    EXPECT_EQ(receiving.finish().error().message, "3 bytes found, expected 12 for the header's extent");
  }
  reason_ = Error{ErrorCode::cancelled, "gone"};
  VolumeReceiver receiving = receiver({});
  EXPECT_EQ(receiving.finish().error().message, "gone");
}

TEST_F(VolumeReceiverTest, OnlyChunksFollowTheHeader) {
  v1::VolumeRequest header;
  header.mutable_header();
  VolumeReceiver receiving = receiver({header});
  EXPECT_EQ(receiving.finish().error().code, ErrorCode::invalid_argument);
}

TEST_F(VolumeReceiverTest, AnAbandonedUploadEndsAtItsNextChunk) {
  VolumeReceiver receiving = receiver({chunk(0, "abcdefghijkl")});
  EXPECT_TRUE(receiving.abandon(10min));
  EXPECT_EQ(receiving.finish().error().code, ErrorCode::cancelled);
}

TEST_F(VolumeReceiverTest, AClientThatKeepsSilentIsTold) {
  VolumeReceiver receiving = receiver({}, true);
  EXPECT_FALSE(receiving.abandon(1ms));
  let_go();
  EXPECT_FALSE(receiving.finish());
}

}  // namespace
}  // namespace znni::rpc
