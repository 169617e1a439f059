#include "server/jobs/turn_queue.hpp"

#include <algorithm>

namespace znni {

Turn::~Turn() {
  if (queue_ != nullptr) queue_->end_turn();
}

Result<Turn> TurnQueue::wait(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  if (stop.stop_requested()) return Error{ErrorCode::cancelled, "the job was cancelled before its turn came"};
  const bool must_wait = taken_ || !waiting_.empty();
  const auto ahead = static_cast<std::int64_t>(waiting_.size());
  if (must_wait && ahead >= most_waiting_) {
    return Error{ErrorCode::unavailable, "the queue of " + name_ + " is full: " + std::to_string(ahead) +
                                             " jobs wait, at most " + std::to_string(most_waiting_) +
                                             " may; try again later"};
  }
  const std::int64_t ticket = next_ticket_++;
  waiting_.push_back(ticket);
  const bool mine = changed_.wait(lock, stop, [&] { return !taken_ && waiting_.front() == ticket; });
  waiting_.erase(std::find(waiting_.begin(), waiting_.end(), ticket));
  if (!mine) {
    changed_.notify_all();  // whoever stood behind may be first now
    return Error{ErrorCode::cancelled, "the job was cancelled before its turn came"};
  }
  taken_ = true;
  return Turn(*this);
}

std::int64_t TurnQueue::waiting() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::int64_t>(waiting_.size());
}

void TurnQueue::end_turn() {
  {
    const std::lock_guard lock(mutex_);
    taken_ = false;
  }
  changed_.notify_all();
}

}  // namespace znni
