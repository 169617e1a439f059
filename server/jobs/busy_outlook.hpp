// On which rung a job is done soonest where it is not alone: others of its model are inside, or come with it.
#pragma once

#include <cstdint>

#include "server/pipeline/engine.hpp"

namespace znni {

// Counts the other jobs that are there.
struct Company {
  bool busy = false;         // a job has the model's turn
  std::int64_t alike = 1;    // jobs like this one that come together, itself included; 0 where it can share no batch
  std::int64_t waiting = 0;  // places of a batch that those in line could take (GuestList::possible_places())
};

// `fastest`: the engine's outlook for a job that is alone. Patches that share a batch: where the jobs that come
// together are done sooner so, and where those in line would fill it and this job alone would not be done much sooner
// (never instead of running between the steps of a stream). Else, while somebody has the turn, small patches that run
// between the steps of a stream, unless they take much longer.
[[nodiscard]] JobOutlook outlook_in_company(const Engine& engine, const VolumeShape& input, ElementType output,
                                            const JobOutlook& fastest, const Company& company);

}  // namespace znni
