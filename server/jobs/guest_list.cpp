#include "server/jobs/guest_list.hpp"

#include "server/jobs/admission.hpp"

namespace znni {

GuestList::Waiting::Waiting(GuestList& list, const VolumeJob& job, GuestEntries entries)
    : list_(list), job_(job), entries_(entries) {
  if (entries.taken == 0 && entries.possible == 0) return;
  const std::lock_guard lock(list_.mutex_);
  list_.waiting_.push_back(this);
}

bool GuestList::Waiting::has_run() const {
  const std::lock_guard lock(list_.mutex_);
  return ended_.has_value();
}

std::optional<Result<JobStatistics>> GuestList::Waiting::leave() {
  std::unique_lock lock(list_.mutex_);
  list_.waiting_.remove(this);
  list_.changed_.wait(lock, [this] { return !runs_; });
  return ended_;
}

std::vector<Guest> GuestList::take(std::size_t rung, std::int64_t entries) {
  std::vector<Guest> guests;
  std::vector<Waiting*> chosen;
  {
    const std::lock_guard lock(mutex_);
    for (Waiting* one : waiting_) {
      const std::int64_t taken = one->entries_.taken;
      if (one->job_.schedule.rung != rung || taken == 0 || taken > entries) continue;
      entries -= taken;
      one->runs_ = true;
      chosen.push_back(one);
    }
    for (Waiting* one : chosen) waiting_.remove(one);
  }
  for (Waiting* one : chosen) {
    guests.push_back({&one->job_, [this, one](const Result<JobStatistics>* ended) {
                        const std::lock_guard lock(mutex_);
                        if (ended != nullptr) one->ended_ = *ended;
                        one->runs_ = false;
                        changed_.notify_all();  // under the lock: the waiting job removes itself
                      }});
    one->taken_.request_stop();  // it stays until it is told how it ended
  }
  return guests;
}

std::int64_t GuestList::possible_entries() const {
  const std::lock_guard lock(mutex_);
  std::int64_t sum = 0;
  for (const Waiting* one : waiting_) sum += one->entries_.possible;
  return sum;
}

Result<std::optional<JobStatistics>> take_turn_or_run_as_guest(GuestList::Waiting& waiting, JobTurns& turns, bool again,
                                                               const WaitEvents& events, const std::stop_token& stop) {
  const auto tell = [](const std::function<void()>& event) {
    if (event) event();
  };
  const StopOfEither either(stop, waiting.taken());
  Result<void> turn = Error{ErrorCode::cancelled, "it was taken before it stood in line"};
  if (!waiting.taken().stop_requested()) {
    turn = again ? turns.take_again(either.token(), events.in_line) : turns.take(either.token(), events.in_line);
  }
  const bool has_begun = turn || waiting.taken().stop_requested();
  if (has_begun) tell(events.begun);
  const std::optional<Result<JobStatistics>> ended = waiting.leave();
  const bool taken = waiting.taken().stop_requested();
  if (taken && !has_begun) tell(events.begun);  // when its caller had given up already
  if (ended && *ended) return std::optional(**ended);
  if (ended) return ended->error();
  if (!turn && taken) {
    turn = turns.take_again(stop, events.in_line);
    if (turn) tell(events.begun);
  }
  if (!turn) return turn.error();
  return std::optional<JobStatistics>();
}

}  // namespace znni
