#include "server/rpc/connections/local_peer.hpp"

#include <gtest/gtest.h>

namespace znni::rpc {
namespace {

TEST(LocalPeer, LoopbackAddressesAndSocketsAreOfThisHost) {
  for (const char* peer : {"ipv4:127.0.0.1:5000", "ipv4:127.255.3.4:1", "ipv6:[::1]:5000", "ipv6:%5B::1%5D:5000",
                           "ipv6:%5b::1%5d:5000", "ipv6:[0:0:0:0:0:0:0:1]:9", "ipv6:[::ffff:127.0.0.1]:80",
                           "ipv6:%5B::ffff:7f00:1%5D:80", "unix:", "unix:/run/znnid", "unix-abstract:znnid"}) {
    EXPECT_TRUE(is_local_peer(peer)) << peer;
  }
}

TEST(LocalPeer, AllOthersAreStrangers) {
  for (const char* peer : {"ipv4:10.0.0.7:5000",
                           "ipv4:128.0.0.1:1",
                           "ipv4:1.127.0.1:1",
                           "ipv6:[fd00::1]:5000",
                           "ipv6:%5B2001:db8::1%5D:1",
                           "ipv6:[::ffff:10.0.0.7]:80",
                           "ipv6:[::]:80",
                           "ipv6:[1::1]:80",
                           "ipv4:127.0.0.1.example:80",
                           "ipv4:127.0.0.1",
                           "ipv4:",
                           "ipv4::",
                           "ipv6:",
                           "ipv6:[",
                           "ipv6:[]",
                           "ipv6:[]:1",
                           "ipv6:]:1",
                           "ipv6:%5",
                           "ipv6:[::1]",
                           "ipv6:::1:80",
                           "127.0.0.1:80",
                           "vsock:1:2",
                           "unknown",
                           ""}) {
    EXPECT_FALSE(is_local_peer(peer)) << peer;
  }
}

}  // namespace
}  // namespace znni::rpc
