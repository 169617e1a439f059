#include "server/rpc/connections/peer_address.hpp"

#include <gtest/gtest.h>

namespace znni::rpc {
namespace {

TEST(PeerAddress, IsThatOfTheTextCodedOrNot) {
  EXPECT_EQ(address_of_peer("ipv4:127.0.0.1:5000")->text(), "127.0.0.1:5000");
  EXPECT_EQ(address_of_peer("ipv6:[::1]:5000")->text(), "[::1]:5000");
  EXPECT_EQ(address_of_peer("ipv6:%5B::1%5d:5000")->text(), "[::1]:5000");
  EXPECT_EQ(address_of_peer("ipv6:%5B::ffff:10.0.0.7%5D:80")->text(), "10.0.0.7:80");
}

TEST(PeerAddress, OtherPeersHaveNone) {
  for (const char* peer : {"", "unix:/run/x", "ipv4:", "ipv4:x:1", "ipv6:%5B", "127.0.0.1:5000"}) {
    EXPECT_FALSE(address_of_peer(peer)) << peer;
  }
}

TEST(PeerAddress, CallsOfOneMachineAreOfOneClient) {
  EXPECT_EQ(client_of_peer("ipv4:10.0.0.7:1"), client_of_peer("ipv4:10.0.0.7:2"));
  EXPECT_NE(client_of_peer("ipv4:10.0.0.7:1"), client_of_peer("ipv4:10.0.0.8:1"));
  EXPECT_EQ(client_of_peer("ipv6:[2001:db8::1]:1"), client_of_peer("ipv6:%5B2001:db8::2%5D:2"));
  EXPECT_EQ(client_of_peer("unix:/run/x"), "unix:/run/x");
}

TEST(PeerAddress, WhatIsNoCodeStays) {
  EXPECT_EQ(decoded_peer("a%zzb%"), "a%zzb%");
  EXPECT_EQ(decoded_peer("%41%4"), "A%4");
}

}  // namespace
}  // namespace znni::rpc
