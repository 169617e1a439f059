#include "server/jobs/turn_queue.hpp"

#include <algorithm>

namespace znni {

Turn::~Turn() {
  if (queue_ != nullptr) queue_->end_turn();
}

Result<Turn> TurnQueue::wait(const std::stop_token& stop, int rank, const std::function<void()>& in_line) {
  std::unique_lock lock(mutex_);
  if (stop.stop_requested()) return Error{ErrorCode::cancelled, "the job was cancelled before its turn came"};
  const bool must_wait = taken_ || !waiting_.empty();
  const auto ahead = static_cast<std::int64_t>(waiting_.size());
  if (must_wait && ahead >= max_waiting_) {
    return Error{ErrorCode::unavailable, "the queue of " + name_ + " is full: " + std::to_string(ahead) +
                                             " jobs wait, at most " + std::to_string(max_waiting_) +
                                             " may; try again later"};
  }
  return stand_in_line(lock, stop, rank, in_line);
}

std::optional<Turn> TurnQueue::take_if_free() {
  const std::lock_guard lock(mutex_);
  if (taken_ || !waiting_.empty()) return std::nullopt;
  taken_ = true;
  return std::optional<Turn>(std::in_place, *this);
}

Result<Turn> TurnQueue::come_back(const std::stop_token& stop, int rank, const std::function<void()>& in_line) {
  std::unique_lock lock(mutex_);
  return stand_in_line(lock, stop, rank, in_line);
}

Result<void> TurnQueue::pass(Turn& turn, const std::stop_token& stop, int rank) {
  std::unique_lock lock(mutex_);
  if (waiting_.empty() || waiting_.front().rank > rank) return {};
  turn.queue_ = nullptr;
  taken_ = false;
  changed_.notify_all();
  Result<Turn> next = stand_in_line(lock, stop, rank);
  if (!next) return next.error();
  turn = std::move(*next);
  return {};
}

Result<Turn> TurnQueue::stand_in_line(std::unique_lock<std::mutex>& lock, const std::stop_token& stop, int rank,
                                      const std::function<void()>& in_line) {
  const Place mine = {rank, next_ticket_++};
  const auto behind =
      std::find_if(waiting_.begin(), waiting_.end(), [rank](const Place& other) { return other.rank > rank; });
  waiting_.insert(behind, mine);
  if (in_line) in_line();
  const bool came = changed_.wait(lock, stop, [&] { return !taken_ && waiting_.front() == mine; });
  waiting_.erase(std::find(waiting_.begin(), waiting_.end(), mine));
  if (!came) {
    changed_.notify_all();  // the next in line may be first now
    return Error{ErrorCode::cancelled, "the job was cancelled before its turn came"};
  }
  taken_ = true;
  return Turn(*this);
}

bool TurnQueue::wanted(int rank) const {
  const std::lock_guard lock(mutex_);
  return !waiting_.empty() && waiting_.front().rank <= rank;
}

bool TurnQueue::taken() const {
  const std::lock_guard lock(mutex_);
  return taken_;
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
