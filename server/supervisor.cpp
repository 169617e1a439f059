#include "server/supervisor.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <system_error>

namespace znni {

Result<void> Supervisor::tell(std::string_view message) const {
  if (socket_.empty()) return {};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_.size() >= sizeof(address.sun_path)) {
    return Error{ErrorCode::unavailable, "NOTIFY_SOCKET " + socket_ + ": too long for the name of a socket"};
  }
  std::copy(socket_.begin(), socket_.end(), address.sun_path);
  // A name outside the file system begins with a zero byte.
  if (socket_.front() == '@') address.sun_path[0] = '\0';
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  const int file = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const ssize_t sent = sendto(file, message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                              reinterpret_cast<const sockaddr*>(&address), length);
  const int error = errno;
  if (file >= 0) close(file);
  if (sent >= 0) return {};
  return Error{ErrorCode::unavailable, "NOTIFY_SOCKET " + socket_ + ": " + std::system_category().message(error)};
}

}  // namespace znni
