// Reads the address of a caller from its text as the library writes it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/rpc/connections/socket_address.hpp"

namespace znni::rpc {

// Returns the text with its codes replaced: "ipv6:%5B::1%5D:5000" is "ipv6:[::1]:5000". Text that is not a code stays.
[[nodiscard]] std::string decoded_peer(std::string_view peer);

// Returns the address in "ipv4:127.0.0.1:5000" or "ipv6:[::1]:5000", coded or not; nothing for other kinds of peers.
[[nodiscard]] std::optional<SocketAddress> address_of_peer(std::string_view peer);

// Returns whom a call from `peer` is counted for: SocketAddress::client(), or the text itself if it has no address.
[[nodiscard]] std::string client_of_peer(std::string_view peer);

}  // namespace znni::rpc
