// A bounded queue for one thing that serves one caller at a time: the jobs of a model, the models on a device. Those of
// smaller rank come first; of one rank, those who came first.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
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
  friend class TurnQueue;
  TurnQueue* queue_ = nullptr;
};

class TurnQueue {
 public:
  // Lets at most `max_waiting` callers wait beside the one whose turn it is. `name` is for messages: "model 'x'".
  TurnQueue(std::string name, std::int64_t max_waiting) : name_(std::move(name)), max_waiting_(max_waiting) {}

  // Waits for the caller's turn. Fails with `unavailable`, at once, if as many wait as may; fails with `cancelled` if
  // `stop` comes first. `in_line`, which may be empty and must not ask the queue anything, is called once the caller
  // has its place. Callers that come then stand behind it.
  [[nodiscard]] Result<Turn> wait(const std::stop_token& stop, int rank = 0, const std::function<void()>& in_line = {});
  // Returns the caller's turn if it is free and no caller waits.
  [[nodiscard]] std::optional<Turn> take_if_free();
  // Waits as wait(), for a caller that was in already and went away for a while: however many wait.
  [[nodiscard]] Result<Turn> come_back(const std::stop_token& stop, int rank,
                                       const std::function<void()>& in_line = {});
  // Lets those go first who wait with no larger rank, and comes back with the next turn; at once when there are none.
  // Fails with `cancelled`, without a turn, if `stop` comes first.
  [[nodiscard]] Result<void> pass(Turn& turn, const std::stop_token& stop, int rank);

  // Returns true if a caller waits with no larger rank.
  [[nodiscard]] bool wanted(int rank) const;
  // Returns true if a caller has its turn.
  [[nodiscard]] bool taken() const;
  // Returns the number of callers that wait now.
  [[nodiscard]] std::int64_t waiting() const;

 private:
  friend class Turn;
  struct Place {
    int rank = 0;
    std::int64_t ticket = 0;
    bool operator==(const Place&) const = default;
  };
  [[nodiscard]] Result<Turn> stand_in_line(std::unique_lock<std::mutex>& lock, const std::stop_token& stop, int rank,
                                           const std::function<void()>& in_line = {});
  void end_turn();

  const std::string name_;
  const std::int64_t max_waiting_;
  mutable std::mutex mutex_;  // guards all below
  std::condition_variable_any changed_;
  std::deque<Place> waiting_;  // by rank, then by ticket
  std::int64_t next_ticket_ = 0;
  bool taken_ = false;
};

}  // namespace znni
