// Notices work that goes on for long without a sign of progress.
#pragma once

#include <atomic>
#include <cstdint>

#include "primitives/core/primitive.hpp"
#include "server/pipeline/job/volume_job.hpp"

namespace znni {

// One thread works; others may ask at any time.
class ProgressWatch {
 public:
  // Work, from construction to destruction.
  class Work {
   public:
    explicit Work(ProgressWatch& watch) : watch_(watch) { watch_.beat(); }
    ~Work() { watch_.last_ns_ = 0; }
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

   private:
    ProgressWatch& watch_;
  };
  // A pause of it, for something that is not the worker's own: likewise.
  class Pause {
   public:
    explicit Pause(ProgressWatch& watch) : watch_(watch) { watch_.last_ns_ = 0; }
    ~Pause() { watch_.beat(); }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    ProgressWatch& watch_;
  };

  // Notes a sign of progress.
  void beat();
  // Returns the time since the last sign; 0 while no work goes on.
  [[nodiscard]] Seconds still() const;

 private:
  std::atomic<std::int64_t> last_ns_ = 0;  // of the steady clock; 0: no work goes on
};

// Makes the job tell `watch` of its progress. Time spent waiting for the client does not count as a stall. `watch` must
// outlive the job.
void keep_watch(ProgressWatch& watch, VolumeJob& job);

}  // namespace znni
