// Tells what a connection has received, independent of its reader.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace znni::rpc {

struct Received {
  std::uint64_t bytes = 0;  // since the connection began, those of TLS included
  bool is_read = true;      // nothing of them waits to be read
};

// Returns what the connection from a peer, as gRPC writes it, has received; nothing where that is not known. May be
// asked from any thread.
using ReceivedOf = std::function<std::optional<Received>(const std::string& peer)>;

// Returns what counts as received by the connection from a peer, given what the system tells of it. Likewise.
using ReceivedCounts =
    std::function<std::optional<Received>(const std::string& peer, const std::optional<Received>& of_system)>;

// Returns nothing if the descriptor is not an open connection of TCP.
[[nodiscard]] std::optional<Received> received_by(int descriptor);

}  // namespace znni::rpc
