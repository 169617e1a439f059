// What a supervisor is told of the daemon, as systemd wants to hear it of services with Type=notify: sd_notify(3),
// whose protocol is a datagram for each message.
#pragma once

#include <string>
#include <string_view>

#include "primitives/core/result.hpp"

namespace znni {

// Thread safe.
class Supervisor {
 public:
  // `socket`: what NOTIFY_SOCKET of the environment says, a path or "@name"; nullptr or "" for nobody, who is told
  // everything with success.
  explicit Supervisor(const char* socket) : socket_(socket == nullptr ? "" : socket) {}

  // "READY=1", "WATCHDOG=1", "STOPPING=1". unavailable, with the system's reason, when it was not sent.
  [[nodiscard]] Result<void> tell(std::string_view message) const;

 private:
  std::string socket_;
};

}  // namespace znni
