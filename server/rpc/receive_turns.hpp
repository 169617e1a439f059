// Bounds how many large messages are received at the same time. gRPC takes a message into memory before
// anybody knows its size, so the lease of its memory can only follow: a turn lasts from the first byte until the
// message is leased or gone, and MemoryShares::receiving holds the memory of all turns. (The library's own memory quota
// is no help: streams that each hold half of their message wait for each other for ever.)
#pragma once

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <utility>

#include "primitives/core/result.hpp"

namespace znni::rpc {

class ReceiveTurns {
 public:
  // One of the turns; given back when destroyed. Must not outlive its ReceiveTurns.
  class Turn {
   public:
    explicit Turn(ReceiveTurns& turns) : turns_(&turns) {}
    Turn(Turn&& other) noexcept : turns_(std::exchange(other.turns_, nullptr)) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn();

   private:
    ReceiveTurns* turns_;
  };

  explicit ReceiveTurns(int turns) : free_(turns) {}

  // Waits for a turn; cancelled when `stop` came first.
  [[nodiscard]] Result<Turn> wait(const std::stop_token& stop);

 private:
  std::mutex mutex_;  // guards free_
  std::condition_variable_any freed_;
  int free_;
};

}  // namespace znni::rpc
