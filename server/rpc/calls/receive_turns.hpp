// Bounds how many large messages are received at the same time. gRPC takes a message into memory before its size is
// known, so the lease of its memory can only follow. A turn lasts from the first byte until the message is leased or
// gone, and MemoryShares::receiving holds the memory of all turns. (The library's own memory quota does not help:
// streams that each hold half of their message wait for each other for ever.)
#pragma once

#include <condition_variable>
#include <limits>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>

#include "primitives/core/result.hpp"
#include "server/rpc/calls/client_counts.hpp"

namespace znni::rpc {

class ReceiveTurns {
 public:
  // One of the turns; given back when destroyed. Must not outlive its ReceiveTurns.
  class Turn {
   public:
    Turn(ReceiveTurns& turns, std::string client) : turns_(&turns), client_(std::move(client)) {}
    Turn(Turn&& other) noexcept : turns_(std::exchange(other.turns_, nullptr)), client_(std::move(other.client_)) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn();

   private:
    ReceiveTurns* turns_;
    std::string client_;
  };

  // Allows `turns` turns, of which one client has `max_of_client` at most.
  explicit ReceiveTurns(int turns, int max_of_client = std::numeric_limits<int>::max())
      : max_of_client_(max_of_client), free_(turns) {}

  // Waits for a turn of `client`, who is named as SocketAddress::client() does; fails with cancelled if `stop` came
  // first.
  [[nodiscard]] Result<Turn> wait(const std::stop_token& stop, const std::string& client = {});

 private:
  const int max_of_client_;
  std::mutex mutex_;  // guards all below
  std::condition_variable_any freed_;
  int free_;
  ClientCounts of_clients_;
};

}  // namespace znni::rpc
