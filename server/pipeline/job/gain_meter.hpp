// Counts what a job on one rung has computed, patch by patch, and tells it.
#pragma once

#include <cstdint>

#include "planner/geometry/patch_grid.hpp"
#include "server/pipeline/job/volume_job.hpp"

namespace znni {

// For one thread at a time.
class GainMeter {
 public:
  // Measures the gain of `job`. `grid` owns every voxel of the output `phases` times, once in each phase. `job` and
  // `grid` must outlive it.
  GainMeter(const VolumeJob& job, const PatchGrid& grid, std::int64_t phases)
      : job_(job), grid_(grid), phases_(phases) {}

  // Tells the job what is new: its patches [0, done) are computed, and took `stages` since it began. A voxel counts
  // when it was owned in every phase; of phases that are not over yet, each counts for its share.
  void tell(std::int64_t done, const StageSeconds& stages);

 private:
  const VolumeJob& job_;
  const PatchGrid& grid_;
  const std::int64_t phases_;
  // The patches that were told.
  std::int64_t patches_ = 0;
  std::int64_t owned_ = 0;  // voxels, once for each phase
  StageSeconds stages_;
};

}  // namespace znni
