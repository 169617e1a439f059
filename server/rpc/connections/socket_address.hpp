// An address of a socket, IPv4 or IPv6, as one value.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <optional>
#include <string>

namespace znni::rpc {

class SocketAddress {
 public:
  // Reads "host:port" with a literal host: "127.0.0.1:8001", "[::1]:8001", "[fe80::1%eth0]:8001". Nothing for other
  // texts.
  [[nodiscard]] static std::optional<SocketAddress> parse(const std::string& point);
  // Returns the address that the socket `descriptor` is bound to, or the one at its other end; nothing if it has none.
  [[nodiscard]] static std::optional<SocketAddress> of_socket(int descriptor);
  [[nodiscard]] static std::optional<SocketAddress> of_peer(int descriptor);

  // Returns "host:port" as parse() reads it, without an interface; IPv4 that is written as IPv6 as plain IPv4.
  [[nodiscard]] std::string text() const;
  // Returns the name under which the connections of one client are counted together. It is the address without the
  // port, of IPv6 the network of 64 bits, all of which one client may have.
  [[nodiscard]] std::string client() const;

  [[nodiscard]] int family() const { return storage_.ss_family; }
  [[nodiscard]] int port() const;
  // Returns true for 0.0.0.0 and ::, which stand for all addresses of this machine.
  [[nodiscard]] bool is_wildcard() const;
  // Returns the same address with another port.
  [[nodiscard]] SocketAddress with_port(int port) const;
  // Returns where to reach a socket that listens here: for a wildcard the loopback address, else the address itself.
  [[nodiscard]] SocketAddress reachable() const;

  [[nodiscard]] const sockaddr* data() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  [[nodiscard]] socklen_t size() const { return family() == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in); }

 private:
  [[nodiscard]] sockaddr_in v4() const;
  [[nodiscard]] sockaddr_in6 v6() const;

  sockaddr_storage storage_{};
};

}  // namespace znni::rpc
