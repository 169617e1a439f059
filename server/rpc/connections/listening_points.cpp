#include "server/rpc/connections/listening_points.hpp"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

namespace znni::rpc {
namespace {

constexpr int max_tries = 20;

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

// Looks up the addresses of a host; nullptr if there are none.
Addresses look_up(const std::string& host, int port) {
  addrinfo wanted{};
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const bool known = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found) == 0;
  return {known ? found : nullptr, &freeaddrinfo};
}

// Returns the host and port of a socket's address in figures.
std::pair<std::string, std::string> figures(const sockaddr* address, socklen_t length) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  const int error =
      getnameinfo(address, length, host.data(), host.size(), port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV);
  return error == 0 ? std::pair<std::string, std::string>(host.data(), port.data())
                    : std::pair<std::string, std::string>();
}

// A socket that holds a port of `host`.
class HeldPort {
 public:
  // Holds a port; 0 is any free one.
  HeldPort(const std::string& host, int port);
  ~HeldPort() {
    if (socket_ >= 0) close(socket_);
  }
  HeldPort(const HeldPort&) = delete;
  HeldPort& operator=(const HeldPort&) = delete;

  // Returns the port; 0 if none could be had.
  [[nodiscard]] int port() const { return port_; }

 private:
  int socket_ = -1;
  int port_ = 0;
};

HeldPort::HeldPort(const std::string& host, int port) {
  const Addresses where = look_up(host, port);
  if (!where) return;
  socket_ = socket(where->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket_ < 0 || bind(socket_, where->ai_addr, where->ai_addrlen) != 0) return;
  sockaddr_storage bound{};
  socklen_t length = sizeof(bound);
  auto* const address = reinterpret_cast<sockaddr*>(&bound);
  if (getsockname(socket_, address, &length) == 0) port_ = std::stoi("0" + figures(address, length).second);
}

// Returns literal hosts without brackets, each once. Hosts of IPv6 beside others count only if this machine has them.
std::vector<std::string> literal_hosts(const std::string& name) {
  const Addresses found = look_up(name, 0);
  std::vector<std::string> hosts;
  std::vector<std::string> ipv6;
  for (const addrinfo* each = found.get(); each != nullptr; each = each->ai_next) {
    std::vector<std::string>& kind = each->ai_family == AF_INET6 ? ipv6 : hosts;
    std::string host = figures(each->ai_addr, each->ai_addrlen).first;
    if (std::find(kind.begin(), kind.end(), host) == kind.end()) kind.push_back(std::move(host));
  }
  if (!hosts.empty()) std::erase_if(ipv6, [](const std::string& host) { return HeldPort(host, 0).port() == 0; });
  hosts.insert(hosts.end(), ipv6.begin(), ipv6.end());
  return hosts;
}

// Returns a port that is free on all hosts.
std::optional<int> common_port(const std::vector<std::string>& hosts) {
  for (int i = 0; i < max_tries; ++i) {
    const HeldPort first(hosts.front(), 0);
    const auto is_free = [&first](const std::string& host) { return HeldPort(host, first.port()).port() != 0; };
    if (first.port() != 0 && std::all_of(hosts.begin() + 1, hosts.end(), is_free)) return first.port();
  }
  return std::nullopt;
}

std::string without_brackets(const std::string& address) {
  const bool has_them = address.starts_with('[') && address.ends_with(']');
  return has_them ? address.substr(1, address.size() - 2) : address;
}

}  // namespace

std::vector<std::string> listening_points(const std::string& address, int port) {
  const std::vector<std::string> hosts = literal_hosts(without_brackets(address));
  const std::optional<int> chosen = port == 0 && hosts.size() > 1 ? common_port(hosts) : port;
  if (!chosen) return {};
  std::vector<std::string> points;
  for (const std::string& host : hosts) {
    const bool is_ipv6 = host.find(':') != std::string::npos;
    points.push_back((is_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(*chosen));
  }
  return points;
}

}  // namespace znni::rpc
