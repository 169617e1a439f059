// A supervisor's socket, as systemd holds one.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <string>

#include "primitives/core/result.hpp"
#include "tests/support/temporary.hpp"

namespace znni::test {

class NotifySocket {
 public:
  // Listens below a temporary folder, or at "@..." outside the file system.
  explicit NotifySocket(bool outside = false) {
    name_ = (outside ? "@znni" : "") + (folder_.path() / "notify").string();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    if (outside) address.sun_path[0] = '\0';
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_.size());
    ensure(bind(file_, reinterpret_cast<const sockaddr*>(&address), length) == 0, "a socket can be bound");
  }
  ~NotifySocket() { close(file_); }
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;

  [[nodiscard]] const char* name() const { return name_.c_str(); }
  // Returns the next message.
  [[nodiscard]] std::string wait() const { return receive(0); }
  // Returns the same; "" if none waits.
  [[nodiscard]] std::string take() const { return receive(MSG_DONTWAIT); }

 private:
  [[nodiscard]] std::string receive(int flags) const {
    std::array<char, 256> text{};
    const ssize_t bytes = recv(file_, text.data(), text.size(), flags);
    return {text.data(), static_cast<std::size_t>(bytes > 0 ? bytes : 0)};
  }

  TemporaryDirectory folder_;
  std::string name_;
  int file_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
};

}  // namespace znni::test
