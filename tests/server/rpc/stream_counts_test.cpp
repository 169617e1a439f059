#include "server/rpc/stream_counts.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "tests/server/rpc/http2_frames.hpp"
#include "tests/server/rpc/loopback.hpp"
#include "tests/server/rpc/tcp_client.hpp"

namespace znni::rpc {
namespace {

TEST(NumberIn, IsTheFirstOfThatNameFromThere) {
  const std::string json = R"({"a":"12","b":{"a":"345"},"c":""})";
  EXPECT_EQ(number_in(json, "a"), 12);
  EXPECT_EQ(number_in(json, "a", 5), 345);
  EXPECT_EQ(number_in(json, "b"), 0);
  EXPECT_EQ(number_in(json, "c"), 0);
  EXPECT_EQ(number_in(json, "d"), 0);
}

class StreamCountsTest : public Loopback {};

TEST_F(StreamCountsTest, CallsThatAreOpenAreUnservedAndServedOnesAreNot) {
  StreamCounts counts(newest_server().value_or(0));
  const TcpClient client(server_->port());
  client.send(http2_begin() + calls_without_messages(5));
  while (counts.unserved(client.name()) < 5) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(counts.unserved(client.name()), 5);
  EXPECT_EQ(counts.unserved("127.0.0.1:1"), 0) << "there is no such connection";
}

}  // namespace
}  // namespace znni::rpc
