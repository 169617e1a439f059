#include "server/rpc/connections/stream_counts.hpp"

#include <grpc/grpc.h>
#include <grpc/support/alloc.h>

#include <algorithm>
#include <charconv>

namespace znni::rpc {
namespace {

constexpr std::intptr_t all_at_once = 100'000;

// Takes over what the library allocated.
std::string taken(char* text) {
  const std::string copy = text == nullptr ? "" : text;
  gpr_free(text);
  return copy;
}

void replace(std::string& text, std::string_view code, char plain) {
  for (auto at = text.find(code); at != std::string::npos; at = text.find(code))
    text.replace(at, code.size(), 1, plain);
}

// Returns the address in a name: "[::1]:5000" for "chttp2 ipv6:%5B::1%5D:5000".
std::string address_in(std::string_view name) {
  const std::size_t scheme = name.find(" ipv");
  if (scheme == std::string_view::npos) return {};
  std::string address(name.substr(std::min(name.size(), scheme + 6)));
  replace(address, "%5B", '[');
  replace(address, "%5D", ']');
  return address;
}

}  // namespace

std::int64_t number_in(std::string_view json, std::string_view name, std::size_t at) {
  const std::string key = "\"" + std::string(name) + "\":\"";
  const std::size_t found = json.find(key, at);
  std::int64_t number = 0;
  if (found == std::string_view::npos) return number;
  const char* const begin = json.data() + found + key.size();
  std::from_chars(begin, json.data() + json.size(), number);
  return number;
}

std::optional<std::int64_t> newest_server() {
  const std::string servers = taken(grpc_channelz_get_servers(0));
  std::int64_t newest = 0;
  for (auto at = servers.find("\"serverId\""); at != std::string::npos; at = servers.find("\"serverId\"", at + 1)) {
    newest = std::max(newest, number_in(servers, "serverId", at));
  }
  return newest == 0 ? std::nullopt : std::optional(newest);
}

std::optional<BegunCalls> StreamCounts::begun(const std::string& peer) {
  if (!sockets_.contains(peer) && !is_listed_) find_sockets();
  const auto socket = sockets_.find(peer);
  if (socket == sockets_.end()) return std::nullopt;
  const std::string counts = taken(grpc_channelz_get_socket(socket->second));
  if (counts.empty()) {
    sockets_.erase(socket);
    return std::nullopt;
  }
  const std::int64_t unserved = number_in(counts, "streamsStarted") - number_in(counts, "streamsSucceeded");
  return BegunCalls{unserved, unserved - number_in(counts, "streamsFailed")};
}

void StreamCounts::find_sockets() {
  constexpr std::string_view name_key = "\"name\":\"";
  sockets_.clear();
  is_listed_ = true;
  const std::string list = taken(grpc_channelz_get_server_sockets(server_, 0, all_at_once));
  for (auto at = list.find(name_key); at != std::string::npos; at = list.find(name_key, at + 1)) {
    const std::size_t begin = at + name_key.size();
    const std::string name = list.substr(begin, list.find('"', begin) - begin);
    sockets_[address_in(name)] = number_in(list, "socketId", at);
  }
}

}  // namespace znni::rpc
