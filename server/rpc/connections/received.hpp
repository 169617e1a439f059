// Tells what a connection has received, independent of its reader.
#pragma once

#include <cstdint>
#include <optional>

namespace znni::rpc {

struct Received {
  std::uint64_t bytes = 0;  // since the connection began, those of TLS included
  bool is_read = true;      // nothing of them waits to be read
};

// Returns nothing if the descriptor is no open connection of TCP.
[[nodiscard]] std::optional<Received> received_by(int descriptor);

}  // namespace znni::rpc
