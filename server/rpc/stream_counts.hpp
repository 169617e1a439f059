// How many calls each connection of a server has begun, as the library counts them (its "channelz").
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace znni::rpc {

// Returns the number under which the library counts the server that was made last; nothing where it counts none.
[[nodiscard]] std::optional<std::int64_t> newest_server();

// The connections of one server by their clients' addresses, "127.0.0.1:5000" or "[::1]:5000". For one thread.
class StreamCounts {
 public:
  explicit StreamCounts(std::int64_t server) : server_(server) {}

  // Returns how many calls of the connection from `peer` were begun and not served to their end: open ones, reset ones
  // and broken ones. 0 where there is no such connection.
  [[nodiscard]] std::int64_t unserved(const std::string& peer);

 private:
  void find_sockets();

  const std::int64_t server_;
  std::map<std::string, std::int64_t> sockets_;  // the library's numbers
};

// Returns the number behind "name":" in a text of JSON as the library writes it, from `at` on; 0 where there is none.
[[nodiscard]] std::int64_t number_in(std::string_view json, std::string_view name, std::size_t at = 0);

}  // namespace znni::rpc
