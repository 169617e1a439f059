// A question of the process to its own port: if a new connection is answered.
#pragma once

#include <chrono>
#include <mutex>
#include <set>
#include <string>

#include "primitives/core/result.hpp"
#include "server/rpc/connections/socket_address.hpp"

namespace znni::rpc {

// The process's own connections to its port, known by the address that they come from, which no one else can have at
// the same time. Thread safe.
class OwnConnections {
 public:
  void add(const std::string& from);
  void remove(const std::string& from);
  [[nodiscard]] bool has(const std::string& from) const;

 private:
  mutable std::mutex mutex_;  // guards from_
  std::set<std::string> from_;
};

// Connects to `port`, begins HTTP/2 without TLS and waits up to `patience` for the server's settings. `own` has the
// connection meanwhile. Fails with unavailable, with the step that failed, if they do not come.
[[nodiscard]] Result<void> ask_for_settings(const SocketAddress& port, OwnConnections& own,
                                            std::chrono::milliseconds patience);

}  // namespace znni::rpc
