#include "server/rest/connection.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <charconv>
#include <filesystem>
#include <system_error>

#include "server/rpc/connections/socket_address.hpp"

namespace znni::rest {
namespace {

using rpc::SocketAddress;

// Returns `point` as SocketAddress::text() has it, without the name of an interface ("[fe80::1%eth0]:80"), or "" if it
// is not an address.
std::string plain(std::string point) {
  const std::size_t scope = point.find('%');
  if (scope != std::string::npos) point.erase(scope, point.find(']') - scope);
  const std::optional<SocketAddress> address = SocketAddress::parse(point);
  return address ? address->text() : std::string();
}

std::optional<int> number_of(const std::string& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

bool is_at(const std::optional<SocketAddress>& address, const std::string& point) {
  return address && (address->family() == AF_INET || address->family() == AF_INET6) && address->text() == point;
}

}  // namespace

std::optional<Connection> Connection::find(const std::string& peer, const std::string& own) {
  const std::string from = plain(peer);
  const std::string to = plain(own);
  std::error_code error;
  std::filesystem::directory_iterator entry("/proc/self/fd", error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::optional<int> descriptor = number_of(entry->path().filename().string());
    const bool connects = descriptor && is_at(SocketAddress::of_peer(*descriptor), from) &&
                          is_at(SocketAddress::of_socket(*descriptor), to);
    if (connects) return Connection(*descriptor);
  }
  return std::nullopt;
}

bool Connection::is_closed() const {
  pollfd one = {descriptor_, POLLRDHUP, 0};
  return poll(&one, 1, 0) > 0;
}

void Connection::end_reading() const { shutdown(descriptor_, SHUT_RD); }

void Connection::end() const { shutdown(descriptor_, SHUT_RDWR); }

}  // namespace znni::rest
