#include "server/jobs/guest_list.hpp"

#include "server/jobs/admission.hpp"

namespace znni {

GuestList::Waiting::Waiting(GuestList& list, const VolumeJob& job, std::int64_t places)
    : list_(list), job_(job), places_(places) {
  if (places == 0) return;
  const std::lock_guard lock(list_.mutex_);
  list_.waiting_.push_back(this);
}

std::optional<Result<JobStatistics>> GuestList::Waiting::leave() {
  std::unique_lock lock(list_.mutex_);
  list_.waiting_.remove(this);
  list_.changed_.wait(lock, [this] { return !runs_; });
  return ended_;
}

std::vector<Guest> GuestList::take(std::size_t rung, std::int64_t places) {
  std::vector<Guest> guests;
  std::vector<Waiting*> chosen;
  {
    const std::lock_guard lock(mutex_);
    for (Waiting* one : waiting_) {
      if (one->job_.rung != rung || one->places_ > places) continue;
      places -= one->places_;
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
                        changed_.notify_all();  // under the lock: whoever waits takes itself away
                      }});
    one->taken_.request_stop();  // it stays until it is told how it ended
  }
  return guests;
}

Result<std::optional<JobStatistics>> take_turn_or_run_as_guest(GuestList& list, const VolumeJob& job,
                                                               std::int64_t places, JobTurns& turns,
                                                               const std::function<void()>& begun,
                                                               const std::stop_token& stop) {
  GuestList::Waiting waiting(list, job, places);
  const StopOfEither either(stop, waiting.taken());
  Result<void> turn = turns.take(either.token());
  const bool has_begun = turn || waiting.taken().stop_requested();
  if (has_begun) begun();
  const std::optional<Result<JobStatistics>> ended = waiting.leave();
  const bool taken = waiting.taken().stop_requested();
  if (taken && !has_begun) begun();  // when its caller had given up already
  if (ended && *ended) return std::optional(**ended);
  if (ended) return ended->error();
  if (!turn && taken) turn = turns.take_again(stop);
  if (!turn) return turn.error();
  return std::optional<JobStatistics>();
}

}  // namespace znni
