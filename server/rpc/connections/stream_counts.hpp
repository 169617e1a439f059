// The number of calls that each connection of a server has begun, as the library counts them (its "channelz").
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace znni::rpc {

// Returns the number under which the library counts the server that was made last; nothing where it counts none.
[[nodiscard]] std::optional<std::int64_t> newest_server();

// Counts calls of a connection that were begun.
struct BegunCalls {
  std::int64_t unserved = 0;  // not served to their end: open ones, reset ones and broken ones
  std::int64_t open = 0;      // of these: not ended yet
};

// The connections of one server by their clients' addresses, "127.0.0.1:5000" or "[::1]:5000". For one thread.
class StreamCounts {
 public:
  explicit StreamCounts(std::int64_t server) : server_(server) {}

  // Returns the counts of the connection from `peer`. Nothing if the library knows no such connection: it has ended, or
  // its handshake is not done. An unknown one makes the library list all, which takes long where there are many: at
  // most once until list_again().
  [[nodiscard]] std::optional<BegunCalls> begun(const std::string& peer);
  // Lets the next unknown connection be looked for in a new list.
  void list_again() { is_listed_ = false; }

 private:
  void find_sockets();

  const std::int64_t server_;
  std::map<std::string, std::int64_t> sockets_;  // the library's numbers
  bool is_listed_ = false;                       // since list_again()
};

// Returns the number behind "name":" in a text of JSON as the library writes it, from `at` on; 0 where there is none.
[[nodiscard]] std::int64_t number_in(std::string_view json, std::string_view name, std::size_t at = 0);

}  // namespace znni::rpc
