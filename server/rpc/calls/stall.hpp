// Notices a client that keeps a call waiting: neither sends what is read nor takes what is written.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>

#include "server/rpc/base/now.hpp"

namespace znni::rpc {

// One thread waits; another may ask at any time whether it has waited too long.
class Stall {
 public:
  // One wait for the client, from construction to destruction.
  class Wait {
   public:
    explicit Wait(Stall& stall);
    ~Wait();
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    Stall& stall_;
  };

  explicit Stall(double max_seconds, Now now = std::chrono::steady_clock::now)
      : max_seconds_(max_seconds), now_(std::move(now)) {}

  // Notes that the client did something: a wait that goes on begins again.
  void restart();
  // Returns true if a wait is going on for longer than `max_seconds`.
  [[nodiscard]] bool too_long() const;

 private:
  [[nodiscard]] std::int64_t now_ns() const;

  const double max_seconds_;
  const Now now_;
  std::atomic<std::int64_t> since_ns_ = 0;  // of its clock; 0: no wait goes on
};

}  // namespace znni::rpc
