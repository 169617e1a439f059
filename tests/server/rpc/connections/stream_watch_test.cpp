#include "server/rpc/connections/stream_watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <optional>

#include "proto/inference.grpc.pb.h"
#include "tests/server/jobs/wait_until.hpp"
#include "tests/server/rpc/http2_frames.hpp"
#include "tests/server/rpc/loopback.hpp"
#include "tests/server/rpc/moved_clock.hpp"
#include "tests/server/rpc/tcp_client.hpp"

namespace znni::rpc {
namespace {

class StreamWatchTest : public Loopback {
 protected:
  bool is_live() {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    inference::ServerLiveResponse live;
    return inference::GRPCInferenceService::NewStub(channel_)->ServerLive(&context, {}, &live).ok();
  }
};

TEST_F(StreamWatchTest, AClientThatOpensCallsWithoutEndIsCutOffForAWhile) {
  std::mutex mutex;  // guards warnings
  std::vector<std::string> warnings;
  ListenOptions given = options();
  given.warn = [&](const std::string& line) {
    const std::scoped_lock lock(mutex);
    warnings.push_back(line);
  };
  start(given);
  // Cut off, it comes again at once, until it is refused as well.
  while (server_->connections().refused_by_resets < 1) {
    const TcpClient client(server_->port());
    client.send(http2_begin() + calls_without_messages(5000));
    ASSERT_TRUE(client.ends());
  }
  EXPECT_TRUE(server_->ask_own_port(std::chrono::minutes(10))) << "the server itself is not shut out";
  EXPECT_GE(server_->connections().cut, 1);
  EXPECT_TRUE(is_live()) << "and later neither are its clients";
  server_.reset();
  EXPECT_THAT(warnings, testing::Contains(
                            testing::HasSubstr("closed 1 connections, the last from 127.0.0.1: it begins calls and")));
}

// Leaves calls open, whose messages never come.
class SlowStreamWatchTest : public StreamWatchTest {
 protected:
  void SetUp() override {
    ListenOptions given = options();
    given.clock = clock_.now();
    start(given);
    counts_.emplace(newest_server().value_or(0));
    client_.emplace(server_->port());
    client_->send(http2_begin());
  }

  bool is_cut() { return server_->connections().cut > 0; }
  // Begins `calls` more. Returns false if they are not seen, though the connection stands.
  bool begin(std::uint32_t calls) {
    client_->send(calls_without_messages(calls, "/inference.GRPCInferenceService/ServerLive", begun_));
    begun_ += calls;
    return test::wait_until([this] { return is_cut() || open_calls() >= begun_; }) && look();
  }

  MovedClock clock_;
  std::uint32_t begun_ = 0;

 private:
  std::int64_t open_calls() {
    counts_->list_again();
    return counts_->begun(client_->name()).value_or(BegunCalls()).open;
  }
  // Lets the watch look. It then asks the clock twice: for the one connection, and at the end.
  bool look() {
    const std::int64_t asked = clock_.asked();
    return test::wait_until([&] { return is_cut() || clock_.asked() >= asked + 4; });
  }

  std::optional<StreamCounts> counts_;
  std::optional<TcpClient> client_;
};

TEST_F(SlowStreamWatchTest, AClientThatLeavesCallsOpenSlowlyIsCutOff) {
  constexpr std::chrono::milliseconds pause{900};
  constexpr std::uint32_t calls = 160;
  static_assert(calls < StreamAccount::forgiven_a_second * 0.9, "they are forgiven faster than they begin");
  while (begun_ < 3000 && !is_cut()) {
    ASSERT_TRUE(begin(calls));
    clock_.advance(pause);
  }
  EXPECT_TRUE(is_cut());
  EXPECT_GE(begun_, 1000U);
}

TEST_F(StreamWatchTest, AClientWithManyServedCallsIsNot) {
  for (int i = 0; i < 2000; ++i) ASSERT_TRUE(is_live());
  EXPECT_EQ(server_->connections().cut, 0);
}

}  // namespace
}  // namespace znni::rpc
