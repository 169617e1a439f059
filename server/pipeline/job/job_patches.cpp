#include "server/pipeline/job/job_patches.hpp"

#include <algorithm>
#include <utility>

#include "server/volume/reader.hpp"

namespace znni {

JobPatches::JobPatches(const VolumeJob& job, const PatchGrid& grid, const Geometry& geometry, const Shape5& output,
                       InputWindow input)
    : job_(job),
      grid_(grid),
      axis_(geometry.choice.axis),
      stitcher_(geometry),
      input_(std::move(input)),
      slabs_(job, grid, output),
      gain_(job, grid, geometry.phases) {}

Result<void> JobPatches::run(PatchStrategy& strategy, const std::stop_token& stop) {
  Result<void> ran = run_all(strategy, stop);
  gain_.tell(done_, strategy.stages());  // the time of patches that failed
  return ran;
}

Result<void> JobPatches::run_all(PatchStrategy& strategy, const std::stop_token& stop) {
  const auto& between_patches = job_.schedule.between_patches;
  strategy.want_next();
  // Others need not wait with this job for its first planes.
  if (between_patches && !is_here()) {
    if (Result<void> came = between_patches({}); !came) return came;
  }
  for (;;) {
    if (Result<void> ran = strategy.run(stop); !ran) return ran;
    if (done_ == count()) return {};
    // Before others have their turn, so that the scheduler knows what this job waits for.
    strategy.want_next();
    if (!between_patches) continue;
    if (Result<void> went_on = between_patches({patch(strategy.next()).continues}); !went_on) return went_on;
  }
}

const GridPatch& JobPatches::patch(std::int64_t number) const {
  return grid_.patches[static_cast<std::size_t>(std::min(number, count() - 1))];
}

void JobPatches::read(std::span<const Vec3> starts, const TensorView& to, Executor& executor) const {
  read_windows(input_.source(), job_.input.normalisation, starts, to, executor, axis_);
}

std::optional<TensorView> JobPatches::window_in_place(Vec3 start, Vec3 n) const {
  if (axis_ != 0) return std::nullopt;
  return znni::window_in_place(input_.source(), job_.input.normalisation, start, n);
}

Result<void> JobPatches::deliver(std::int64_t done, const StageSeconds& stages) {
  done_ = done;
  gain_.tell(done_, stages);
  if (Result<void> delivered = slabs_.deliver(done_); !delivered) return delivered;
  tell_under_way(0);
  return {};
}

void JobPatches::tell_under_way(double patches) const {
  if (job_.account.progress) job_.account.progress({done_, count(), slabs_.planes_done(), patches});
}

}  // namespace znni
