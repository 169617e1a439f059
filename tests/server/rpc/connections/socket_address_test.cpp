#include "server/rpc/connections/socket_address.hpp"

#include <gtest/gtest.h>
#include <net/if.h>

#include <cstring>

#include "server/rpc/connections/owned_descriptor.hpp"

namespace znni::rpc {
namespace {

std::string client_of(const char* point) { return SocketAddress::parse(point)->client(); }

TEST(SocketAddress, PointsAreReadAndWritten) {
  for (const char* point : {"127.0.0.1:8001", "0.0.0.0:0", "[::1]:65535", "[2001:db8::7]:80"}) {
    const auto address = SocketAddress::parse(point);
    ASSERT_TRUE(address) << point;
    EXPECT_EQ(address->text(), point);
  }
  EXPECT_EQ(SocketAddress::parse("[::1]:17")->port(), 17);
  EXPECT_EQ(SocketAddress::parse("10.0.0.1:17")->with_port(99).text(), "10.0.0.1:99");
  EXPECT_EQ(SocketAddress::parse("[::ffff:10.0.0.1]:17")->text(), "10.0.0.1:17");
}

TEST(SocketAddress, AnInterfaceOfIpv6IsKept) {
  const auto address = SocketAddress::parse("[fe80::1%lo]:80");
  ASSERT_TRUE(address);
  sockaddr_in6 v6{};
  std::memcpy(&v6, address->data(), sizeof(v6));
  EXPECT_EQ(v6.sin6_scope_id, if_nametoindex("lo"));
  EXPECT_EQ(address->text(), "[fe80::1]:80");
  EXPECT_EQ(address->port(), 80);
}

TEST(SocketAddress, OtherTextsAreNone) {
  for (const char* text :
       {"", ":", ":80", "localhost:80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "::1:80", "[127.0.0.1]:80",
        "[localhost]:80", "[fe80::1%nonesuch]:80", "[]:80", "[::1]:x", "[::1:80"}) {
    EXPECT_FALSE(SocketAddress::parse(text)) << text;
  }
}

TEST(SocketAddress, AClientIsAnAddressOrANetworkOfIpv6) {
  EXPECT_EQ(client_of("10.1.2.3:5"), client_of("10.1.2.3:6"));
  EXPECT_NE(client_of("10.1.2.3:5"), client_of("10.1.2.4:5"));
  EXPECT_EQ(client_of("[::ffff:10.1.2.3]:5"), "10.1.2.3");
  EXPECT_EQ(client_of("[2001:db8:1:2:3::4]:5"), client_of("[2001:db8:1:2:9::9]:6"));
  EXPECT_NE(client_of("[2001:db8:1:2::4]:5"), client_of("[2001:db8:1:3::4]:5"));
  EXPECT_EQ(client_of("[::1]:5"), "::1");
}

TEST(SocketAddress, WildcardsAreReachedByLoopback) {
  EXPECT_TRUE(SocketAddress::parse("0.0.0.0:1")->is_wildcard());
  EXPECT_TRUE(SocketAddress::parse("[::]:1")->is_wildcard());
  EXPECT_FALSE(SocketAddress::parse("[::1]:1")->is_wildcard());
  EXPECT_EQ(SocketAddress::parse("0.0.0.0:1")->reachable().text(), "127.0.0.1:1");
  EXPECT_EQ(SocketAddress::parse("[::]:1")->reachable().text(), "127.0.0.1:1");
  EXPECT_EQ(SocketAddress::parse("10.0.0.1:1")->reachable().text(), "10.0.0.1:1");
}

TEST(SocketAddress, IsThatOfASocket) {
  const OwnedDescriptor made(socket(AF_INET, SOCK_STREAM, 0));
  const SocketAddress any = *SocketAddress::parse("127.0.0.1:0");
  ASSERT_EQ(bind(made.number(), any.data(), any.size()), 0);
  EXPECT_GT(SocketAddress::of_socket(made.number())->port(), 0);
  EXPECT_FALSE(SocketAddress::of_peer(made.number()));
  EXPECT_FALSE(SocketAddress::of_socket(-1));
}

}  // namespace
}  // namespace znni::rpc
