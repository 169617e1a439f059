// The queue of depth one between two workers (ZNNi section VII.C), and the only thing that they share. Items, the end,
// errors and stops pass through it, both ways.
//
// The producer asks for room before it starts to compute, not before it delivers. So at most two intermediate results
// exist: the one that is consumed and the one that is made or waits.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>

#include "primitives/core/primitive.hpp"

namespace znni {

// How long each side waited for the other.
struct HandoffIdle {
  Seconds producer = 0;
  Seconds consumer = 0;
};

// Items are numbers; what they stand for is the workers' own. One producer, one consumer.
class Handoff {
 public:
  // Blocks until the last item was taken: the next may be computed. Errors: the consumer's, when it has failed; fails
  // with `cancelled` if `stop` asks for it.
  [[nodiscard]] Result<void> wait_for_room(const std::stop_token& stop);
  // Delivers an item; there must be room.
  void deliver(std::int64_t item);
  // Asks `source` to stop when the consumer has nothing left to do, at once or before the next delivery. The producer
  // calls this before it waits for something from elsewhere.
  void stop_when_idle(std::stop_source source);
  // Tells the consumer that no item follows; with an error, because making one failed.
  void end(Result<void> reason = {});

  // Blocks until there is an item and takes it, or nothing after the last. Errors: the producer's, after the items it
  // had delivered; `cancelled`.
  [[nodiscard]] Result<std::optional<std::int64_t>> take(const std::stop_token& stop);
  // Tells the producer why the consumer failed and takes no more.
  void refuse(const Error& reason);

  // Returns how long each side was idle. Neither side may be in a call.
  [[nodiscard]] HandoffIdle idle() const { return idle_; }

 private:
  std::mutex mutex_;  // guards all below
  std::condition_variable_any changed_;
  std::optional<std::int64_t> item_;
  bool ended_ = false;
  Result<void> end_reason_;
  std::optional<Error> refusal_;
  bool consumer_waits_ = false;
  std::optional<std::stop_source> when_idle_;
  HandoffIdle idle_;
};

}  // namespace znni
