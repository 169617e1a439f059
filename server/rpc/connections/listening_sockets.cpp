#include "server/rpc/connections/listening_sockets.hpp"

#include <linux/tcp.h>

#include <utility>

namespace znni::rpc {
namespace {

constexpr int backlog = 4096;  // the system makes it less where its own limit is
constexpr unsigned unacknowledged_ms = 20'000;

void set_option(int socket, int level, int name, int value) { setsockopt(socket, level, name, &value, sizeof(value)); }

// Sets the options of a socket, which connections inherit. SO_REUSEPORT stays off: two servers on one port would share
// its calls without a word.
void set_options(int socket, const SocketAddress& address) {
  set_option(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, unacknowledged_ms);
  if (address.family() == AF_INET6) set_option(socket, IPPROTO_IPV6, IPV6_V6ONLY, address.is_wildcard() ? 0 : 1);
}

// Holds no socket where the address cannot be had.
ListeningSocket open(const SocketAddress& address) {
  ListeningSocket opened;
  OwnedDescriptor made(socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made) return opened;
  set_options(made.number(), address);
  if (bind(made.number(), address.data(), address.size()) != 0 || listen(made.number(), backlog) != 0) return opened;
  const auto bound = SocketAddress::of_socket(made.number());
  if (!bound) return opened;
  return {std::move(made), *bound};
}

bool has_ipv6_wildcard() {
  const OwnedDescriptor made(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const SocketAddress any = *SocketAddress::parse("[::]:0");
  return made && bind(made.number(), any.data(), any.size()) == 0;
}

SocketAddress as_wide_as_can_be(const SocketAddress& address) {
  if (!address.is_wildcard()) return address;
  return SocketAddress::parse(has_ipv6_wildcard() ? "[::]:0" : "0.0.0.0:0")->with_port(address.port());
}

}  // namespace

Result<std::vector<ListeningSocket>> open_listening_sockets(const std::vector<std::string>& points) {
  std::vector<ListeningSocket> sockets;
  for (const std::string& point : points) {
    const std::optional<SocketAddress> address = SocketAddress::parse(point);
    ListeningSocket opened = address ? open(as_wide_as_can_be(*address)) : ListeningSocket();
    if (!opened.socket) return Error{ErrorCode::unavailable, point};
    sockets.push_back(std::move(opened));
  }
  return sockets;
}

}  // namespace znni::rpc
