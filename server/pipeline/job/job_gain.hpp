// The work that a job has done since it told last. It tells while it runs, so that long jobs are seen to progress.
#pragma once

#include <cstdint>

#include "server/pipeline/job/stage_seconds.hpp"

namespace znni {

struct JobGain {
  std::int64_t patches = 0;  // steps of a stream
  std::int64_t voxels = 0;   // of the dense output, channels not counted
  StageSeconds stages;       // but for their layers
};

}  // namespace znni
