#include "server/rpc/connections/socket_address.hpp"

#include <arpa/inet.h>
#include <netdb.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace znni::rpc {
namespace {

constexpr std::size_t network_bytes = 8;  // of the 16 of an IPv6 address

template <typename Address>
sockaddr_storage stored(const Address& address) {
  sockaddr_storage storage{};
  std::memcpy(&storage, &address, sizeof(address));
  return storage;
}

std::string figures(int family, const void* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  return inet_ntop(family, address, text.data(), text.size()) == nullptr ? std::string() : std::string(text.data());
}

std::optional<in_port_t> parse_port(std::string_view text) {
  in_port_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return htons(port);
}

// Reads figures with or without an interface, "fe80::1%eth0".
std::optional<sockaddr_in6> parse_v6(const std::string& host, in_port_t port) {
  addrinfo hints{};
  hints.ai_family = AF_INET6;
  hints.ai_flags = AI_NUMERICHOST;
  addrinfo* found = nullptr;
  if (host.empty() || getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return std::nullopt;
  sockaddr_in6 address{};
  std::memcpy(&address, found->ai_addr, sizeof(address));
  freeaddrinfo(found);
  address.sin6_port = port;
  return address;
}

// Returns the IPv4 address within one that is written as IPv6.
const void* mapped_part(const in6_addr& address) { return address.s6_addr + 12; }

}  // namespace

std::optional<SocketAddress> SocketAddress::parse(const std::string& point) {
  const std::size_t colon = point.rfind(':');
  if (colon == std::string::npos || colon == 0) return std::nullopt;
  const std::optional<in_port_t> port = parse_port(std::string_view(point).substr(colon + 1));
  if (!port) return std::nullopt;
  const bool bracketed = point.front() == '[' && point[colon - 1] == ']';
  const std::string host = bracketed ? point.substr(1, colon - 2) : point.substr(0, colon);
  SocketAddress parsed;
  sockaddr_in v4{};
  if (!bracketed && inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = *port;
    parsed.storage_ = stored(v4);
    return parsed;
  }
  const std::optional<sockaddr_in6> v6 = bracketed ? parse_v6(host, *port) : std::nullopt;
  if (!v6) return std::nullopt;
  parsed.storage_ = stored(*v6);
  return parsed;
}

std::optional<SocketAddress> SocketAddress::of_socket(int descriptor) {
  SocketAddress found;
  socklen_t length = sizeof(found.storage_);
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&found.storage_), &length) != 0) return std::nullopt;
  return found;
}

std::optional<SocketAddress> SocketAddress::of_peer(int descriptor) {
  SocketAddress found;
  socklen_t length = sizeof(found.storage_);
  if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&found.storage_), &length) != 0) return std::nullopt;
  return found;
}

sockaddr_in SocketAddress::v4() const {
  sockaddr_in address{};
  std::memcpy(&address, &storage_, sizeof(address));
  return address;
}

sockaddr_in6 SocketAddress::v6() const {
  sockaddr_in6 address{};
  std::memcpy(&address, &storage_, sizeof(address));
  return address;
}

int SocketAddress::port() const { return ntohs(family() == AF_INET6 ? v6().sin6_port : v4().sin_port); }

std::string SocketAddress::text() const {
  const std::string end = ":" + std::to_string(port());
  const in6_addr address = v6().sin6_addr;
  const in_addr four = v4().sin_addr;
  if (family() != AF_INET6) return figures(AF_INET, &four) + end;
  if (IN6_IS_ADDR_V4MAPPED(&address)) return figures(AF_INET, mapped_part(address)) + end;
  return "[" + figures(AF_INET6, &address) + "]" + end;
}

std::string SocketAddress::client() const {
  in6_addr address = v6().sin6_addr;
  const in_addr four = v4().sin_addr;
  if (family() != AF_INET6) return figures(AF_INET, &four);
  if (IN6_IS_ADDR_V4MAPPED(&address)) return figures(AF_INET, mapped_part(address));
  if (IN6_IS_ADDR_LOOPBACK(&address)) return figures(AF_INET6, &address);
  std::fill(address.s6_addr + network_bytes, address.s6_addr + sizeof(address), std::uint8_t{0});
  return figures(AF_INET6, &address) + "/64";
}

bool SocketAddress::is_wildcard() const {
  const in6_addr address = v6().sin6_addr;
  return family() == AF_INET6 ? IN6_IS_ADDR_UNSPECIFIED(&address) : v4().sin_addr.s_addr == htonl(INADDR_ANY);
}

SocketAddress SocketAddress::with_port(int port) const {
  SocketAddress changed;
  sockaddr_in6 six = v6();
  sockaddr_in four = v4();
  six.sin6_port = four.sin_port = htons(static_cast<in_port_t>(port));
  changed.storage_ = family() == AF_INET6 ? stored(six) : stored(four);
  return changed;
}

// Returns an address by which this one can be reached. A socket of IPv6 that listens on all addresses takes IPv4, too,
// which exists even if ::1 does not.
SocketAddress SocketAddress::reachable() const {
  return is_wildcard() ? *parse("127.0.0.1:" + std::to_string(port())) : *this;
}

}  // namespace znni::rpc
