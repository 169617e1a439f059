#include "server/metrics/http_stream.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <string>
#include <thread>

#include "server/rpc/connections/owned_descriptor.hpp"

namespace znni {
namespace {

using std::chrono::milliseconds;

// A stream over one end of a pair of sockets.
class HttpStreamTest : public testing::Test {
 protected:
  void SetUp() override { open({2, 2, std::chrono::hours(1), std::chrono::hours(1)}); }
  void open(const HttpLimits& limits) {
    std::array<int, 2> ends{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    stream_.reset();
    place_.reset();
    own_.reset(ends[0]);
    client_.reset(ends[1]);
    table_ = std::make_unique<HttpConnections>(limits);
    place_ = table_->enter(own_.number(), "peer", "client");
    stream_ = std::make_unique<HttpStream>(own_.number(), *place_, limits.idle_timeout);
  }
  void send(const std::string& text) {
    ASSERT_EQ(::send(client_.number(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  }
  // Returns what was read of `size` bytes at most.
  std::string read(std::size_t size) {
    std::string text(size, '\0');
    const ssize_t bytes = stream_->read(text.data(), size);
    text.resize(bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
    return text;
  }

  rpc::OwnedDescriptor own_;
  rpc::OwnedDescriptor client_;
  std::unique_ptr<HttpConnections> table_;
  std::unique_ptr<HttpPlace> place_;
  std::unique_ptr<HttpStream> stream_;
};

TEST_F(HttpStreamTest, ReadsInPiecesOfAnySize) {
  send("abc" + std::string(5000, 'x'));
  EXPECT_EQ(read(1), "a");
  EXPECT_EQ(read(2), "bc");
  std::string rest;
  while (rest.size() < 5000) rest += read(8000);
  EXPECT_EQ(rest, std::string(5000, 'x'));
  EXPECT_FALSE(stream_->has_request(milliseconds(0)));
  client_.reset();
  EXPECT_EQ(stream_->read(rest.data(), 1), 0);
}

TEST_F(HttpStreamTest, KnowsOfARequestThatItHasReadAhead) {
  send("ab");
  EXPECT_EQ(read(1), "a");
  EXPECT_TRUE(stream_->has_request(milliseconds(0)));
}

TEST_F(HttpStreamTest, WritesAll) {
  const std::string text(4 << 20, 'x');
  std::jthread writer([&] { EXPECT_EQ(stream_->write(text.data(), text.size()), 4 << 20); });
  std::string all(text.size(), '\0');
  EXPECT_EQ(recv(client_.number(), all.data(), all.size(), MSG_WAITALL), 4 << 20);
  EXPECT_EQ(all, text);
}

TEST_F(HttpStreamTest, AClientThatHasNoMoreToSendIsAnswered) {
  shutdown(client_.number(), SHUT_WR);
  EXPECT_TRUE(stream_->is_writable());
  EXPECT_EQ(stream_->write("abc", 3), 3);
  client_.reset();
  EXPECT_EQ(stream_->write("abc", 3), -1);
}

TEST_F(HttpStreamTest, ASilentClientIsNotWaitedForForLong) {
  open({2, 2, milliseconds(1), std::chrono::hours(1)});
  std::array<char, 1> byte{};
  EXPECT_EQ(stream_->read(byte.data(), 1), -1);
  const std::string much(64 << 20, 'x');
  EXPECT_EQ(stream_->write(much.data(), much.size()), -1);
  EXPECT_EQ(table_->facts().late, 0);
}

TEST_F(HttpStreamTest, ARequestThatTakesTooLongIsNotReadOn) {
  open({2, 2, std::chrono::hours(1), milliseconds(0)});
  send("abc");
  EXPECT_EQ(read(3), "");
  EXPECT_EQ(stream_->write("abc", 3), -1);
  EXPECT_EQ(table_->facts().late, 2);
  table_->note_work("peer");
  EXPECT_EQ(read(3), "abc");
}

}  // namespace
}  // namespace znni
