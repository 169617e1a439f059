// Tells whether a caller is on this host.
#pragma once

#include <string_view>

namespace znni::rpc {

// Returns whether a peer is local. `peer` is as the library writes it: "ipv4:127.0.0.1:5000", "ipv6:[::1]:5000", also
// "ipv6:%5B::1%5D:5000", "unix:/run/x". True for loopback addresses, IPv4 ones written as IPv6 among them, and for
// sockets of the file system. A client that comes by another address of this host counts as remote; one that comes
// through a proxy here counts as local.
[[nodiscard]] bool is_local_peer(std::string_view peer);

}  // namespace znni::rpc
