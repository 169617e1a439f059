// Finds the rung on which a job ends soonest if it is not alone: others of its model are inside, or come with it.
#pragma once

#include <cstdint>

#include "server/pipeline/engine.hpp"

namespace znni {

// Counts the other jobs that are there.
struct QueueLoad {
  bool busy = false;         // a job has the model's turn
  std::int64_t alike = 1;    // jobs like this one that come together, itself included; 0 where it can share no batch
  std::int64_t waiting = 0;  // entries of a batch that those in line could take (GuestList::possible_entries())
};

// Returns the estimate of a job that is not alone; `fastest` is the engine's estimate for one that is. It chooses
// patches that share a batch if the jobs that come together end sooner so. It does so, too, if waiting jobs would fill
// the batch and this job alone would not end much sooner. It never does so instead of running between the steps of a
// stream. Otherwise, while another job has the turn, it chooses small patches that run between the steps of a stream,
// unless they take much longer.
[[nodiscard]] JobEstimate estimate_under_load(const Engine& engine, const VolumeShape& input, ElementType output,
                                              const JobEstimate& fastest, const QueueLoad& queue_load);

}  // namespace znni
