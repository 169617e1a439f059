// Jobs of one model that wait for their turn and would run in the free entries of another's batch just as well
// (server/pipeline/job/guests.hpp). If the planned patch is best computed several at a time, small jobs share a batch.
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
#include "server/pipeline/job/volume_job.hpp"

namespace znni {

// Entries that a job takes of a batch that it shares with others; 0: it must have a batch for itself.
struct GuestEntries {
  std::int64_t taken = 0;     // on its rung
  std::int64_t possible = 0;  // on the rung where sharing would suit it best
};

// Thread safe. Must outlive those in it.
class GuestList {
 public:
  // Stands in the list, where it could share a batch, from construction to leave().
  class Waiting {
   public:
    Waiting(GuestList& list, const VolumeJob& job, GuestEntries entries);
    ~Waiting() { static_cast<void>(leave()); }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

    // Returns a token that is asked to stop when another job takes this one as a guest. The job then need not wait for
    // its turn any longer.
    [[nodiscard]] std::stop_token taken() const { return taken_.get_token(); }
    // Returns true if another job has taken this one and has told how that ended.
    [[nodiscard]] bool has_run() const;
    // Returns how the job ended if it was taken, and waits for that. Nothing if it was not taken, or did not run.
    [[nodiscard]] std::optional<Result<JobStatistics>> leave();

   private:
    friend class GuestList;
    GuestList& list_;
    const VolumeJob& job_;
    const GuestEntries entries_;
    std::stop_source taken_;
    bool runs_ = false;  // taken and not told how it ended; guarded by the list's mutex, as is the next
    std::optional<Result<JobStatistics>> ended_;
  };

  // Returns the jobs on this rung that came first and fit together in this many entries.
  [[nodiscard]] std::vector<Guest> take(std::size_t rung, std::int64_t entries);
  // Returns the entries that all waiting jobs could take of shared batches, on whichever rungs they wait.
  [[nodiscard]] std::int64_t possible_entries() const;

 private:
  mutable std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::list<Waiting*> waiting_;  // in the order in which they came
};

// Called while a job waits; each may be empty.
struct WaitEvents {
  std::function<void()> in_line;  // the job waits: at first, and again if the job that had taken it failed
  std::function<void()> begun;    // it has its turn, or runs as a guest
};

// Waits until the job has run as a guest, and returns its result, or until it has its turn, and returns nothing.
// `again`: it was in line before, so it may wait however many do. Errors as JobTurns::take().
[[nodiscard]] Result<std::optional<JobStatistics>> take_turn_or_run_as_guest(GuestList::Waiting& waiting,
                                                                             JobTurns& turns, bool again,
                                                                             const WaitEvents& events,
                                                                             const std::stop_token& stop);

}  // namespace znni
