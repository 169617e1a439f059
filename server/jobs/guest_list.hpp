// Jobs of one model that wait for their turn and would run in the free places of another's batch just as well
// (server/pipeline/guests.hpp): where the planned patch is best computed several at a time, small requests share one.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

#include "server/jobs/job_turns.hpp"
#include "server/pipeline/engine.hpp"

namespace znni {

// Thread safe. Must outlive those in it.
class GuestList {
 public:
  // Stands in the list, where `places` is not 0, from construction to leave().
  class Waiting {
   public:
    Waiting(GuestList& list, const VolumeJob& job, std::int64_t places);
    ~Waiting() { static_cast<void>(leave()); }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

    // Asked to stop when somebody takes the job: it need not wait for its turn any longer.
    [[nodiscard]] std::stop_token taken() const { return taken_.get_token(); }
    // How the job ended where it was taken, for which this waits; nothing where it was not, or did not run.
    [[nodiscard]] std::optional<Result<JobStatistics>> leave();

   private:
    friend class GuestList;
    GuestList& list_;
    const VolumeJob& job_;
    const std::int64_t places_;
    std::stop_source taken_;
    bool runs_ = false;  // taken and not told how it ended; guarded by the list's mutex, as is the next
    std::optional<Result<JobStatistics>> ended_;
  };

  // Those who came first of the jobs on this rung that fit together in so many places.
  [[nodiscard]] std::vector<Guest> take(std::size_t rung, std::int64_t places);

 private:
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::list<Waiting*> waiting_;  // in the order in which they came
};

// Until the job has run as a guest, which is then told, or has its turn: nothing. `places` as Waiting. `begun` is
// called once, when either begins. Errors as JobTurns::take().
[[nodiscard]] Result<std::optional<JobStatistics>> take_turn_or_run_as_guest(GuestList& list, const VolumeJob& job,
                                                                             std::int64_t places, JobTurns& turns,
                                                                             const std::function<void()>& begun,
                                                                             const std::stop_token& stop);

}  // namespace znni
