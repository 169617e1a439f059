// Closes the connections of clients that begin far more calls than they see through, at once or slowly. The library
// holds each call, reset or not, until one of its threads has looked at it, and bounds them by nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "server/rpc/base/now.hpp"
#include "server/rpc/connections/connection_table.hpp"
#include "server/rpc/connections/paced.hpp"
#include "server/rpc/connections/stream_account.hpp"
#include "server/rpc/connections/stream_counts.hpp"

namespace znni::rpc {

class StreamWatch {
 public:
  using Warn = std::function<void(const std::string& line)>;

  // Looks every few milliseconds at the connections of `table`, which must outlive it, that have received something,
  // and asks `now` when that was.
  StreamWatch(std::int64_t server, ConnectionTable& table, StreamAccount& account, Warn warn, Now now);

  // Returns how many connections it has closed.
  [[nodiscard]] std::int64_t closed() const { return closed_; }

 private:
  struct Seen {
    ino_t inode = 0;
    std::uint64_t bytes = 0;
    StreamAccount::Clock::time_point when;  // the last of them was seen
    BegunCalls calls;
  };
  void work(const std::stop_token& stop);
  void look();
  [[nodiscard]] bool has_too_many(const OpenConnection& connection);
  void shut(const OpenConnection& connection);
  void shut_hoarders(const std::vector<OpenConnection>& open, StreamAccount::Clock::time_point now);
  [[nodiscard]] std::map<std::string, std::int64_t> open_calls(const std::vector<OpenConnection>& open);
  void ask_again(const OpenConnection& connection);

  StreamCounts counts_;
  ConnectionTable& table_;
  StreamAccount& account_;
  const Warn warn_;
  const Now now_;
  std::map<int, Seen> seen_;  // by descriptor
  StreamAccount::Clock::time_point swept_;
  Paced warnings_;
  std::atomic<std::int64_t> closed_ = 0;
  std::jthread thread_;
};

}  // namespace znni::rpc
