#include "server/rpc/connections/peer_address.hpp"

#include <charconv>

namespace znni::rpc {

std::string decoded_peer(std::string_view peer) {
  std::string plain;
  while (!peer.empty()) {
    unsigned char value = 0;
    const bool coded = peer.size() > 2 && peer.front() == '%' &&
                       std::from_chars(peer.data() + 1, peer.data() + 3, value, 16).ptr == peer.data() + 3;
    plain += coded ? static_cast<char>(value) : peer.front();
    peer.remove_prefix(coded ? 3 : 1);
  }
  return plain;
}

std::optional<SocketAddress> address_of_peer(std::string_view peer) {
  constexpr std::size_t scheme = 5;
  const std::string text = decoded_peer(peer);
  if (!text.starts_with("ipv4:") && !text.starts_with("ipv6:")) return std::nullopt;
  return SocketAddress::parse(text.substr(scheme));
}

std::string client_of_peer(std::string_view peer) {
  const std::optional<SocketAddress> address = address_of_peer(peer);
  return address ? address->client() : std::string(peer);
}

}  // namespace znni::rpc
