// The turns of one job: its model's first, then the device's. So a model with many jobs holds one place on the device
// like any other.
#pragma once

#include <functional>

#include "server/jobs/turn_queue.hpp"

namespace znni {

// Returns the rank of a job in the queues for the protocol's priority: 1 goes first, 0 stands for 2, larger ones come
// later.
[[nodiscard]] int rank_of_priority(int priority);

// The turns of one job, used by its own thread; the queues must outlive it.
class JobTurns {
 public:
  JobTurns(TurnQueue& model, TurnQueue& device, int rank) : model_(model), device_(device), rank_(rank) {}

  // Waits for both turns. Fails with `unavailable` if the model's queue is full, with `cancelled` if `stop` comes
  // first. `in_line` as TurnQueue::wait().
  [[nodiscard]] Result<void> take(const std::stop_token& stop, const std::function<void()>& in_line = {});
  // Takes as take(), for a job that was in line before: however many wait.
  [[nodiscard]] Result<void> take_again(const std::stop_token& stop, const std::function<void()>& in_line = {});
  // Lets waiting jobs run that are at least as urgent, one patch of each in turn. Lets any job run while `has_room`
  // (may be empty) says that this one cannot go on. A job calls this between patches. It has both turns afterwards, or
  // fails with `cancelled`.
  [[nodiscard]] Result<void> give_way(const std::stop_token& stop, const std::function<bool()>& has_room);
  // Returns whether give_way() would let a job run, or lend_device() if the job `keeps` the model's turn.
  [[nodiscard]] bool wanted(const std::function<bool()>& has_room, bool keeps = false) const;
  // Does the same, but keeps the model's turn. Something of the job stands in the model's memory. So only jobs of other
  // models may run, and those of this one that keep clear of it.
  [[nodiscard]] Result<void> lend_device(const std::stop_token& stop, const std::function<bool()>& has_room);

 private:
  [[nodiscard]] Result<void> take_device(Result<Turn> model, const std::stop_token& stop);
  [[nodiscard]] Result<void> step_aside(const std::stop_token& stop, const std::function<bool()>& has_room);

  TurnQueue& model_;
  TurnQueue& device_;
  int rank_;
  Turn model_turn_;
  Turn device_turn_;  // last: given back first
};

}  // namespace znni
