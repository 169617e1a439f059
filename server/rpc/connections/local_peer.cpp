#include "server/rpc/connections/local_peer.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <string>

#include "server/rpc/connections/peer_address.hpp"

namespace znni::rpc {
namespace {

bool is_ipv4_loopback(const std::string& host) {
  in_addr address{};
  return inet_pton(AF_INET, host.c_str(), &address) == 1 && ntohl(address.s_addr) >> 24 == 127;
}

bool is_ipv6_loopback(const std::string& host) {
  in6_addr address{};
  if (inet_pton(AF_INET6, host.c_str(), &address) != 1) return false;
  return IN6_IS_ADDR_LOOPBACK(&address) || (IN6_IS_ADDR_V4MAPPED(&address) && address.s6_addr[12] == 127);
}

}  // namespace

bool is_local_peer(std::string_view peer) {
  if (peer.starts_with("unix:") || peer.starts_with("unix-abstract:")) return true;
  const std::string text = decoded_peer(peer);
  const std::size_t port = text.rfind(':');
  if (text.starts_with("ipv4:") && port > 5) return is_ipv4_loopback(text.substr(5, port - 5));
  const bool bracketed = text.starts_with("ipv6:[") && port > 6 && text[port - 1] == ']';
  return bracketed && is_ipv6_loopback(text.substr(6, port - 7));
}

}  // namespace znni::rpc
