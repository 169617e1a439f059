// The time that a job, or several one after the other, took.
#pragma once

#include <cstdint>
#include <string>

#include "server/pipeline/job/stage_seconds.hpp"

namespace znni {

struct JobStatistics {
  Seconds seconds = 0;
  double voxels_per_second = 0;  // dense output voxels, channels not counted
  std::int64_t patches = 0;
  Seconds queued = 0;   // before its first patch: filled in by a ModelServer, as is the next
  Seconds yielded = 0;  // between its patches, while other jobs ran; `seconds` holds it too
  // How long, on a rung with a GPU, the CPU and the GPU with the thread that feeds it waited for each other. The GPU
  // also waits until the output of the patch before the last is stitched.
  Seconds cpu_idle = 0;
  Seconds gpu_idle = 0;
  StageSeconds stages;
  std::int64_t replaced = 0;  // voxels of the input that were no finite numbers
  bool is_guest = false;      // it ran with another job, which has their time
  std::string fallback;       // why rungs of the CPU computed what was planned for a GPU; "" when nothing failed

  // Adds a job that ran after these. `is_guest` stays true only if all are guests; `fallback` is the last that is not
  // empty. The caller, who knows the voxels of all, sets voxels_per_second.
  JobStatistics& operator+=(const JobStatistics& other) {
    seconds += other.seconds;
    patches += other.patches;
    replaced += other.replaced;
    queued += other.queued;
    yielded += other.yielded;
    cpu_idle += other.cpu_idle;
    gpu_idle += other.gpu_idle;
    stages += other.stages;
    is_guest = is_guest && other.is_guest;
    if (!other.fallback.empty()) fallback = other.fallback;
    return *this;
  }
};

}  // namespace znni
