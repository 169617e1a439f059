// The open connections of a server, counted in all and for each client.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace znni::rpc {

struct ConnectionLimits {
  int most = 1024;          // open at the same time
  int max_of_client = 512;  // of those, from one address
};

// A connection as the table noted it.
struct OpenConnection {
  int descriptor = -1;
  ino_t inode = 0;
  std::string client;  // whom it is counted for
  std::string peer;    // "host:port" of its other end
};

enum class Admission { admitted, server_full, client_full };

// The library takes a socket over and closes it without telling, so the table looks. A number that is not a socket any
// more, or has another inode, is a connection that has ended. Thread safe.
class ConnectionTable {
 public:
  using Clock = std::chrono::steady_clock;
  explicit ConnectionTable(ConnectionLimits limits) : limits_(limits) {}

  // Notes the open socket `descriptor` as a connection of `client` unless it would pass a limit. Looks for connections
  // that have ended only where there is no room, and not twice within `between_looks` of `now`.
  [[nodiscard]] Admission admit(int descriptor, const std::string& client, Clock::time_point now = Clock::now(),
                                const std::string& peer = {});
  // Returns the number of noted sockets that are open now.
  [[nodiscard]] std::int64_t count();
  // Returns those noted, some of which may have ended.
  [[nodiscard]] std::vector<OpenConnection> open() const;
  // Returns the one whose other end is `peer`; nothing if there is none.
  [[nodiscard]] std::optional<OpenConnection> find(const std::string& peer) const;
  // Breaks the connection and drops what it has received and no one has read; false if it has ended already. Who took
  // the socket over closes it.
  bool cut(const OpenConnection& connection);

  static constexpr std::chrono::milliseconds between_looks{10};

 private:
  void forget(std::map<int, OpenConnection>::iterator connection);
  void forget_closed();
  [[nodiscard]] Admission room_for(const std::string& client) const;

  const ConnectionLimits limits_;
  mutable std::mutex mutex_;  // guards all below
  std::map<int, OpenConnection> connections_;
  std::map<std::string, int> of_clients_;
  Clock::time_point looked_;
};

}  // namespace znni::rpc
