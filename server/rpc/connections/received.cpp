#include "server/rpc/connections/received.hpp"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace znni::rpc {

// Returns what a socket has received. The system's own header has the count: libc's is older.
std::optional<Received> received_by(int descriptor) {
  tcp_info info{};
  socklen_t length = sizeof(info);
  if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return std::nullopt;
  int unread = 0;
  if (ioctl(descriptor, FIONREAD, &unread) != 0) return std::nullopt;
  return Received{info.tcpi_bytes_received, unread == 0};
}

}  // namespace znni::rpc
