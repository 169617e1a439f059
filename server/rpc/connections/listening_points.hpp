// Finds the addresses at which a server listens from one that a user gives. The library itself takes those of a name
// that are free, and is content with one.
#pragma once

#include <string>
#include <vector>

namespace znni::rpc {

// Returns "host:port" of every literal address that `address`, literal itself or a name, stands for, each once:
// "127.0.0.1:8001", "[::1]:8001". If this machine has no IPv6, its addresses are left out beside others. Port 0 is any
// free one: where there are several addresses, one that is free on all of them now; nothing if there is no such port.
// Empty, too, for an address that stands for nothing.
[[nodiscard]] std::vector<std::string> listening_points(const std::string& address, int port);

}  // namespace znni::rpc
