#include "server/rpc/connections/listening_sockets.hpp"

#include <gtest/gtest.h>

#include "tests/server/rpc/tcp_client.hpp"

namespace znni::rpc {
namespace {

// Waits for a connection: that of a client that has connected may come a moment later.
OwnedDescriptor accept_one(const ListeningSocket& listening) {
  pollfd one = {listening.socket.number(), POLLIN, 0};
  constexpr int longest_ms = 600'000;  // a bound for a hang
  EXPECT_EQ(poll(&one, 1, longest_ms), 1);
  return OwnedDescriptor(accept(listening.socket.number(), nullptr, nullptr));
}

TEST(ListeningSockets, AnyPortIsOneThatIsReached) {
  const auto sockets = open_listening_sockets({"127.0.0.1:0"});
  ASSERT_TRUE(sockets) << sockets.error().message;
  ASSERT_EQ(sockets->size(), 1U);
  EXPECT_GT(sockets->front().address.port(), 0);
  const TcpClient client(sockets->front().address.port());
  EXPECT_TRUE(accept_one(sockets->front()));
}

TEST(ListeningSockets, BothWildcardsTakeIpv4) {
  for (const char* wildcard : {"0.0.0.0:0", "[::]:0"}) {
    const auto sockets = open_listening_sockets({wildcard});
    ASSERT_TRUE(sockets) << wildcard;
    EXPECT_TRUE(sockets->front().address.is_wildcard());
    const TcpClient client(sockets->front().address.port());
    const OwnedDescriptor accepted = accept_one(sockets->front());
    ASSERT_TRUE(accepted) << wildcard;
    EXPECT_EQ(SocketAddress::of_peer(accepted.number())->text(), client.name());
  }
}

TEST(ListeningSockets, APortInUseIsNamedAndNotShared) {
  const auto first = open_listening_sockets({"127.0.0.1:0"});
  ASSERT_TRUE(first);
  const std::string point = first->front().address.text();
  const auto second = open_listening_sockets({"127.0.0.1:0", point});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::unavailable);
  EXPECT_EQ(second.error().message, point);
}

TEST(ListeningSockets, AnAddressOfAnotherMachineIsRefused) {
  EXPECT_EQ(open_listening_sockets({"203.0.113.7:0"}).error().message, "203.0.113.7:0");
  EXPECT_FALSE(open_listening_sockets({"nothing"}));
}

}  // namespace
}  // namespace znni::rpc
