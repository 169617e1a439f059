// The sockets on which a server listens.
#pragma once

#include <string>
#include <vector>

#include "primitives/core/result.hpp"
#include "server/rpc/connections/owned_descriptor.hpp"
#include "server/rpc/connections/socket_address.hpp"

namespace znni::rpc {

struct ListeningSocket {
  OwnedDescriptor socket;
  SocketAddress address;  // with the port that it got
};

// Listens on each of `points` ("host:port", as listening_points() returns them). A wildcard of either kind takes both
// IPv6 and IPv4 where this machine has IPv6. Fails with unavailable, with the point as its message, for the first that
// is in use or is not an address of this machine.
[[nodiscard]] Result<std::vector<ListeningSocket>> open_listening_sockets(const std::vector<std::string>& points);

}  // namespace znni::rpc
