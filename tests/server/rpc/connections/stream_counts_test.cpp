#include "server/rpc/connections/stream_counts.hpp"

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

class StreamCountsTest : public Loopback {
 protected:
  static std::optional<std::int64_t> unserved_of(StreamCounts& counts, const std::string& peer) {
    const std::optional<BegunCalls> calls = counts.begun(peer);
    return calls ? std::optional(calls->unserved) : std::nullopt;
  }
};

TEST_F(StreamCountsTest, CallsThatAreOpenAreUnservedAndServedOnesAreNot) {
  StreamCounts counts(newest_server().value_or(0));
  const TcpClient client(server_->port());
  client.send(http2_begin() + calls_without_messages(5));
  while (unserved_of(counts, client.name()).value_or(0) < 5) {
    counts.list_again();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(unserved_of(counts, client.name()), 5);
  EXPECT_EQ(unserved_of(counts, "127.0.0.1:1"), std::nullopt) << "there is no such connection";
}

TEST_F(StreamCountsTest, CallsThatWereResetAreNotOpen) {
  StreamCounts counts(newest_server().value_or(0));
  const TcpClient client(server_->port());
  client.send(http2_begin() + calls_without_messages(5) + http2_reset(1) + http2_reset(3));
  // Three are open also while the library begins them one by one.
  const auto are_all_counted = [&] {
    const BegunCalls calls = counts.begun(client.name()).value_or(BegunCalls());
    return calls.unserved == 5 && calls.open == 3;
  };
  while (!are_all_counted()) {
    counts.list_again();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(counts.begun(client.name())->unserved, 5);
}

TEST_F(StreamCountsTest, AConnectionThatHasEndedIsUnknown) {
  StreamCounts counts(newest_server().value_or(0));
  TcpClient client(server_->port());
  const std::string name = client.name();
  client.send(http2_begin() + calls_without_messages(5));
  while (unserved_of(counts, name).value_or(0) < 5) {
    counts.list_again();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  client.close();
  while (unserved_of(counts, name)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  counts.list_again();
  EXPECT_EQ(unserved_of(counts, name), std::nullopt);
}

TEST_F(StreamCountsTest, AreListedOnceUntilTheyShallBeAgain) {
  StreamCounts counts(newest_server().value_or(0));
  EXPECT_EQ(unserved_of(counts, "127.0.0.1:1"), std::nullopt);  // lists all
  const TcpClient client(server_->port());
  client.send(http2_begin() + calls_without_messages(5));
  StreamCounts others(newest_server().value_or(0));
  while (unserved_of(others, client.name()).value_or(0) < 5) {
    others.list_again();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(unserved_of(counts, client.name()), std::nullopt);
  counts.list_again();
  EXPECT_EQ(unserved_of(counts, client.name()), 5);
}

}  // namespace
}  // namespace znni::rpc
