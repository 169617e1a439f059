#include "server/rpc/connections/own_question.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <string>
#include <thread>

#include "server/rpc/connections/listening_sockets.hpp"
#include "server/rpc/connections/owned_descriptor.hpp"
#include "server/rpc/connections/socket_address.hpp"

namespace znni::rpc {
namespace {

using testing::HasSubstr;

// Accepts one connection, receives the preface with empty settings, and answers with `bytes`; "": closes.
class Answering {
 public:
  explicit Answering(std::string bytes) : sockets_(*open_listening_sockets({"127.0.0.1:0"})) {
    thread_ = std::jthread([this, bytes = std::move(bytes)] { answer(bytes); });
  }
  // Waits until the connection has ended.
  ~Answering() {
    if (thread_.joinable()) thread_.join();
  }
  [[nodiscard]] Result<void> ask() {
    return ask_for_settings(sockets_.front().address, own_, std::chrono::minutes(10));
  }
  [[nodiscard]] bool was_own() {
    thread_.join();
    return was_own_;
  }
  OwnConnections own_;

 private:
  void answer(const std::string& bytes) {
    while (true) {
      const OwnedDescriptor taken(accept(sockets_.front().socket.number(), nullptr, nullptr));
      if (!taken) continue;
      was_own_ = own_.has(SocketAddress::of_peer(taken.number())->text());
      std::array<char, 33> sent{};
      EXPECT_EQ(recv(taken.number(), sent.data(), sent.size(), MSG_WAITALL), 33);
      EXPECT_EQ(std::string(sent.data(), 14), "PRI * HTTP/2.0");
      const ssize_t answered = bytes.empty() ? 0 : send(taken.number(), bytes.data(), bytes.size(), 0);
      EXPECT_EQ(answered, static_cast<ssize_t>(bytes.size()));
      return;
    }
  }

  std::vector<ListeningSocket> sockets_;
  bool was_own_ = false;
  std::jthread thread_;
};

TEST(OwnQuestion, SettingsAreAnAnswer) {
  Answering server(std::string{0, 0, 6, 4, 0, 0, 0, 0, 0, 1, 2, 3});
  const Result<void> answered = server.ask();
  EXPECT_TRUE(answered) << answered.error().message;
  EXPECT_TRUE(server.was_own()) << "while it was open";
}

TEST(OwnQuestion, OtherFramesAndAnEndAreNone) {
  Answering other(std::string{0, 0, 8, 7, 0, 0, 0, 0, 0});
  EXPECT_THAT(other.ask().error().message, HasSubstr("something else"));
  Answering silent("");
  EXPECT_THAT(silent.ask().error().message, HasSubstr("HTTP/2 settings: the connection was closed"));
}

TEST(OwnQuestion, APortThatAcceptsNothingIsDeaf) {
  OwnConnections own;
  const auto sockets = open_listening_sockets({"127.0.0.1:0"});
  ASSERT_TRUE(sockets);
  const Result<void> waited = ask_for_settings(sockets->front().address, own, std::chrono::milliseconds(1));
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code, ErrorCode::unavailable);
  EXPECT_THAT(waited.error().message, HasSubstr("no answer in time"));
}

TEST(OwnQuestion, NoOneListensThere) {
  OwnConnections own;
  // A socket that does not listen keeps its port from other programs.
  const OwnedDescriptor bound(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const SocketAddress any = *SocketAddress::parse("127.0.0.1:0");
  ASSERT_EQ(bind(bound.number(), any.data(), any.size()), 0);
  EXPECT_THAT(
      ask_for_settings(*SocketAddress::of_socket(bound.number()), own, std::chrono::minutes(10)).error().message,
      HasSubstr("connect: "));
}

TEST(OwnConnections, AreThoseThatWereAddedAndNotRemoved) {
  OwnConnections own;
  own.add("127.0.0.1:5");
  EXPECT_TRUE(own.has("127.0.0.1:5"));
  EXPECT_FALSE(own.has("127.0.0.1:6"));
  own.remove("127.0.0.1:5");
  EXPECT_FALSE(own.has("127.0.0.1:5"));
}

}  // namespace
}  // namespace znni::rpc
