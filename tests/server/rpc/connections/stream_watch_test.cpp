#include "server/rpc/connections/stream_watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "proto/inference.grpc.pb.h"
#include "tests/server/rpc/http2_frames.hpp"
#include "tests/server/rpc/loopback.hpp"
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
  EXPECT_TRUE(server_->ask_own_port(std::chrono::minutes(1))) << "the server itself is not shut out";
  EXPECT_GE(server_->connections().cut, 1);
  EXPECT_TRUE(is_live()) << "and later neither are its clients";
  server_.reset();
  EXPECT_THAT(warnings, testing::Contains(
                            testing::HasSubstr("closed 1 connections, the last from 127.0.0.1: it begins calls and")));
}

// Leaves calls open, 182 in a second: less than are forgiven. Their messages never come.
TEST_F(StreamWatchTest, AClientThatLeavesCallsOpenSlowlyIsCutOff) {
  const TcpClient client(server_->port());
  client.send(http2_begin());
  std::uint32_t begun = 0;
  for (; begun < 3000 && server_->connections().cut == 0; begun += 20) {
    client.send(calls_without_messages(20, "/inference.GRPCInferenceService/ServerLive", begun));
    std::this_thread::sleep_for(std::chrono::milliseconds(110));
  }
  EXPECT_GE(server_->connections().cut, 1);
  EXPECT_GE(begun, 1000U);
}

TEST_F(StreamWatchTest, AClientWithManyServedCallsIsNot) {
  for (int i = 0; i < 2000; ++i) ASSERT_TRUE(is_live());
  EXPECT_EQ(server_->connections().cut, 0);
}

}  // namespace
}  // namespace znni::rpc
