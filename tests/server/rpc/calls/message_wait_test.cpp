#include "server/rpc/calls/message_wait.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>

#include "tests/server/jobs/wait_until.hpp"
#include "tests/server/rpc/http2_frames.hpp"
#include "tests/server/rpc/open_inference_fixture.hpp"
#include "tests/server/rpc/tcp_client.hpp"

namespace znni::rpc {
namespace {

using testing::AllOf;
using testing::Each;
using testing::Field;

class MessageWaitTest : public OpenInferenceTest {
 protected:
  void SetUp() override {
    ListenOptions impatient = options();
    impatient.silent_seconds = 0.05;
    connect(impatient);
  }
};

TEST_F(MessageWaitTest, CallsWithoutAMessageEndSoon) {
  const TcpClient silent(server_->port());
  silent.send(http2_begin() + calls_without_messages(8));
  ASSERT_TRUE(test::wait_until([this] { return records().size() == 8; }));
  EXPECT_THAT(records(),
              Each(AllOf(Field(&CallRecord::code, "DEADLINE_EXCEEDED"), Field(&CallRecord::refusal, "deadline"))));
  expect_alive();
}

// Tells of a connection in place of the system, until `is_silent`.
class HeardTest : public OpenInferenceTest, public testing::WithParamInterface<bool> {
 protected:
  static constexpr double most_silence = 0.3;

  void SetUp() override {
    ListenOptions impatient = options();
    impatient.silent_seconds = most_silence;
    connect(impatient);
    server_->front_door().received = [this](const std::string& peer) -> std::optional<Received> {
      EXPECT_EQ(peer, "ipv4:" + client_->name());
      if (is_silent_) return Received{bytes_, true};
      ++asked_;
      return GetParam() ? Received{++bytes_, true} : Received{bytes_, false};
    };
    client_ = std::make_unique<TcpClient>(server_->port());
    client_->send(http2_begin() + calls_without_messages(1));
  }

  std::unique_ptr<TcpClient> client_;
  std::atomic<bool> is_silent_ = false;
  std::atomic<int> asked_ = 0;
  std::uint64_t bytes_ = 0;  // of the thread that asks
};

TEST_P(HeardTest, AClientIsWaitedForWhileItsConnectionBringsSomething) {
  ASSERT_TRUE(test::wait_until([this] { return asked_ > 0; }));
  std::this_thread::sleep_for(std::chrono::duration<double>(3 * most_silence));
  EXPECT_TRUE(records().empty());
  is_silent_ = true;
  EXPECT_TRUE(test::wait_until([this] { return records().size() == 1; }));
}

INSTANTIATE_TEST_SUITE_P(MoreOrUnread, HeardTest, testing::Bool());

}  // namespace
}  // namespace znni::rpc
