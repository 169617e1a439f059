// Tells a supervisor of the daemon's state, as systemd expects it of services with Type=notify: sd_notify(3), whose
// protocol is a datagram for each message.
#pragma once

#include <string>
#include <string_view>

#include "primitives/core/result.hpp"

namespace znni {

// Thread safe.
class Supervisor {
 public:
  // Speaks to the supervisor at `socket`, the value of NOTIFY_SOCKET in the environment: a path or "@name". If it is
  // nullptr or "", there is no supervisor, and tell() succeeds.
  explicit Supervisor(const char* socket) : socket_(socket == nullptr ? "" : socket) {}

  // Sends "READY=1", "WATCHDOG=1" or "STOPPING=1". Fails with unavailable, with the system's reason, if it could not be
  // sent.
  [[nodiscard]] Result<void> tell(std::string_view message) const;

 private:
  std::string socket_;
};

}  // namespace znni
