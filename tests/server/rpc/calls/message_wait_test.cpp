#include "server/rpc/calls/message_wait.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>

#include "tests/server/jobs/wait_until.hpp"
#include "tests/server/rpc/http2_frames.hpp"
#include "tests/server/rpc/moved_clock.hpp"
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
    ListenOptions timed = options();
    timed.clock = clock_.now();
    connect(timed);
  }

  MovedClock clock_;
};

TEST_F(MessageWaitTest, CallsWithoutAMessageEndSoon) {
  const TcpClient silent(server_->port());
  silent.send(http2_begin() + calls_without_messages(8));
  clock_.pass_until([this] { return records().size() == 8; });
  EXPECT_THAT(records(),
              Each(AllOf(Field(&CallRecord::code, "DEADLINE_EXCEEDED"), Field(&CallRecord::refusal, "deadline"))));
  expect_alive();
}

// Tells of a connection in place of the system, until `is_silent`: asked, it lets most of the silence pass that is
// allowed.
class HeardTest : public OpenInferenceTest, public testing::WithParamInterface<bool> {
 protected:
  static constexpr std::chrono::seconds max_silence{20};

  void SetUp() override {
    ListenOptions given = options();
    given.silent_seconds = max_silence.count();
    given.stall_seconds = 1e6;
    given.clock = clock_.now();
    given.received = [this](const std::string& peer, const std::optional<Received>&) -> std::optional<Received> {
      EXPECT_EQ(peer, "ipv4:" + client_->name());
      clock_.advance(max_silence * 9 / 10);
      if (is_silent_) return Received{bytes_, true};
      ++asked_;
      return GetParam() ? Received{++bytes_, true} : Received{bytes_, false};
    };
    connect(given);
    client_ = std::make_unique<TcpClient>(server_->port());
    client_->send(http2_begin() + calls_without_messages(1));
  }

  MovedClock clock_;
  std::unique_ptr<TcpClient> client_;
  std::atomic<bool> is_silent_ = false;
  std::atomic<int> asked_ = 0;
  std::atomic<std::uint64_t> bytes_ = 0;
};

TEST_P(HeardTest, AClientIsWaitedForWhileItsConnectionBringsSomething) {
  ASSERT_TRUE(test::wait_until([this] { return asked_ > 10 || !records().empty(); }));
  EXPECT_TRUE(records().empty());
  is_silent_ = true;
  EXPECT_TRUE(test::wait_until([this] { return records().size() == 1; }));
}

INSTANTIATE_TEST_SUITE_P(MoreOrUnread, HeardTest, testing::Bool());

}  // namespace
}  // namespace znni::rpc
