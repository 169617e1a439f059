// A bounded first-come, first-served queue for one thing that serves one caller at a time: the jobs of a
// model, the models on a device.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>

#include "primitives/core/result.hpp"

namespace znni {

class TurnQueue;

// It is the holder's turn until this is destroyed. Must not outlive its queue.
class Turn {
 public:
  Turn() = default;
  explicit Turn(TurnQueue& queue) : queue_(&queue) {}
  Turn(Turn&& other) noexcept : queue_(std::exchange(other.queue_, nullptr)) {}
  Turn& operator=(Turn&& other) noexcept {
    std::swap(queue_, other.queue_);
    return *this;
  }
  ~Turn();

 private:
  TurnQueue* queue_ = nullptr;
};

class TurnQueue {
 public:
  // At most `most_waiting` callers wait beside the one whose turn it is. `name` is for messages: "model 'x'".
  TurnQueue(std::string name, std::int64_t most_waiting) : name_(std::move(name)), most_waiting_(most_waiting) {}

  // Waits for the caller's turn. `unavailable`, at once, when as many wait as may; `cancelled` when `stop`
  // comes first.
  [[nodiscard]] Result<Turn> wait(const std::stop_token& stop);

  // Callers that wait now.
  [[nodiscard]] std::int64_t waiting() const;

 private:
  friend class Turn;
  void end_turn();

  const std::string name_;
  const std::int64_t most_waiting_;
  mutable std::mutex mutex_;  // guards all below
  std::condition_variable_any changed_;
  std::deque<std::int64_t> waiting_;  // tickets, in the order they were drawn
  std::int64_t next_ticket_ = 0;
  bool taken_ = false;
};

}  // namespace znni
