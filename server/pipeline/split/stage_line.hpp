// Three workers in a row (ZNNi section VII.C): the head makes items, the tail takes each on, the caller's thread
// finishes it. A hand-off of depth one stands between any two. So the tail of one item runs while the one before is
// finished and the head makes the next. At most three items are under way; between two workers, two of them.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>

#include "server/pipeline/split/handoff.hpp"

namespace znni {

struct StageLine {
  // Delivers item after item, each when there is room, and returns after the last. In a thread of its own.
  std::function<Result<void>(Handoff& to, const std::stop_token& stop)> head;
  // Called for each item in its order, in one thread of its own.
  std::function<Result<void>(std::int64_t item, const std::stop_token& stop)> tail;
  // Called for each item in its order, in the caller's thread. The tail does not begin item i + 2 before item i is
  // finished: it may write to one of two places by turns.
  std::function<Result<void>(std::int64_t item)> finish;
};

// Runs the line until the head has ended and all that it delivered is finished. An error of a worker ends the line
// after the items that it had passed on are finished, and is returned; of several errors, the one of the earliest item.
// Fails with `cancelled` if `stop` asks for it: between two items, and wherever head and tail look at theirs. Returns
// how long the head waited, and how long the tail did: for items and for room.
[[nodiscard]] Result<HandoffIdle> run_stage_line(const StageLine& line, const std::stop_token& stop);

}  // namespace znni
