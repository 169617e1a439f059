// Whether a caller is on this host.
#pragma once

#include <string_view>

namespace znni::rpc {

// Of a peer as the library writes it: "ipv4:127.0.0.1:5000", "ipv6:[::1]:5000", also "ipv6:%5B::1%5D:5000",
// "unix:/run/x". True for loopback addresses, IPv4 ones written as IPv6 among them, and for sockets of the file system.
// Who comes by another address of this host is taken for a stranger; who comes through a proxy here is not.
[[nodiscard]] bool is_local_peer(std::string_view peer);

}  // namespace znni::rpc
