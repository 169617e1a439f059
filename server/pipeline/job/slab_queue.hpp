// The output slabs of a running job: one per row of the patch grid. A slab is opened when its first patch is about to
// run, and delivered, in order, as soon as its last one has.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/geometry/patch_grid.hpp"
#include "server/pipeline/job/volume_job.hpp"
#include "server/volume/stitcher.hpp"

namespace znni {

// Returns the shape of the input behind the output planes from the job's first on, with the network's frame. Fails with
// invalid_argument if the output has no such plane.
[[nodiscard]] Result<VolumeShape> shape_left(const VolumeJob& job, Vec3 fov, const Border& frame = {});

// Returns the patches of what the job has left of its volume, which begin in the frame. `max_planes`, `sockets` as
// make_patch_grid().
[[nodiscard]] PatchGrid job_grid(const VolumeJob& job, const Geometry& geometry, Vec3 fov,
                                 std::int64_t max_planes = saturated, int sockets = 1, const Border& frame = {});

class SlabQueue {
 public:
  // Opens and delivers slabs of a job. `output` is the whole dense output: its f, y and x extents are those of every
  // slab. All must outlive the queue.
  SlabQueue(const VolumeJob& job, const PatchGrid& grid, const Shape5& output);

  // Returns the slab that holds what patch `index` owns. Patches are asked for in rising order. Fails if the caller's
  // slab is not of the output's shape or of a type that cannot be written.
  [[nodiscard]] Result<OutputSlab> open_for(std::int64_t index);
  // Aims the entries of a batch at patches [first, first + targets.size()). Behind the last patch of the grid they
  // repeat it, and own nothing. Errors as open_for().
  [[nodiscard]] Result<void> aim(std::int64_t first, std::span<StitchTarget> targets);
  // Delivers every row that is complete once patches [0, patches_done) are written.
  [[nodiscard]] Result<void> deliver(std::int64_t patches_done);
  [[nodiscard]] const Shape5& output() const { return output_; }
  // Returns how many output planes were delivered: [0, planes_done()).
  [[nodiscard]] std::int64_t planes_done() const { return planes_done_; }

 private:
  [[nodiscard]] Result<OutputSlab> ask(const GridRow& row) const;

  const VolumeJob& job_;
  const PatchGrid& grid_;
  Shape5 output_;
  std::vector<OutputSlab> open_;  // of rows first_open_, first_open_ + 1, ...
  std::size_t first_open_ = 0;
  std::int64_t planes_done_;
};

}  // namespace znni
