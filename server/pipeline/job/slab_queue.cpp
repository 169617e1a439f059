#include "server/pipeline/job/slab_queue.hpp"

#include <algorithm>

#include "planner/network/swap_axes.hpp"
#include "server/volume/element.hpp"

namespace znni {
namespace {

Result<void> check_slab(const OutputSlab& slab, const OutputSlab& wanted) {
  if (!can_write(slab.shape.type)) {
    return Error{ErrorCode::invalid_argument,
                 "output element type is " + to_string(slab.shape.type) + "; it must be f32, f16 or u8"};
  }
  const bool same = slab.first_plane == wanted.first_plane && slab.shape.f == wanted.shape.f &&
                    slab.shape.n == wanted.shape.n && slab.data != nullptr;
  if (same) return {};
  return Error{ErrorCode::invalid_argument, "output slab holds planes from " + std::to_string(slab.first_plane) +
                                                " of " + std::to_string(slab.shape.f) + " x " +
                                                to_string(slab.shape.n) + "; it must hold planes from " +
                                                std::to_string(wanted.first_plane) + " of " +
                                                std::to_string(wanted.shape.f) + " x " + to_string(wanted.shape.n)};
}

}  // namespace

Result<VolumeShape> shape_left(const VolumeJob& job, Vec3 fov, const Border& frame) {
  VolumeShape left = job.input.volume.shape;
  left.n = left.n + frame.begin + frame.end;
  const std::int64_t planes = left.n.z - fov.z + 1;
  if (planes < 1) return left;  // the caller says what is too small
  if (job.sink.first_plane >= planes) {
    return Error{ErrorCode::invalid_argument, "the job begins at output plane " + std::to_string(job.sink.first_plane) +
                                                  "; the output has " + std::to_string(planes)};
  }
  if (job.sink.first_plane < 0) {
    return Error{ErrorCode::invalid_argument,
                 "the job begins at output plane " + std::to_string(job.sink.first_plane) + "; 0 or more is right"};
  }
  left.n.z -= job.sink.first_plane;
  return left;
}

PatchGrid job_grid(const VolumeJob& job, const Geometry& geometry, Vec3 fov, std::int64_t max_planes, int sockets,
                   const Border& frame) {
  const Vec3 skipped{job.sink.first_plane, 0, 0};
  const Vec3 left = job.input.volume.shape.n + frame.begin + frame.end - skipped;
  PatchGrid grid = make_patch_grid(left, geometry, fov, max_planes, sockets);
  for (GridPatch& patch : grid.patches) patch.start = patch.start + swap_axes(skipped, geometry.choice.axis);
  for (GridRow& row : grid.rows) row.first_plane += job.sink.first_plane;
  return grid;
}

SlabQueue::SlabQueue(const VolumeJob& job, const PatchGrid& grid, const Shape5& output)
    : job_(job), grid_(grid), output_(output), planes_done_(job.sink.first_plane) {}

Result<OutputSlab> SlabQueue::ask(const GridRow& row) const {
  OutputSlab wanted;
  wanted.first_plane = row.first_plane;
  wanted.shape.f = output_.f;
  wanted.shape.n = {row.planes, output_.n.y, output_.n.x};
  Result<OutputSlab> slab = job_.sink.slab(wanted.first_plane, wanted.shape.n.z);
  if (!slab) return slab;
  if (Result<void> checked = check_slab(*slab, wanted); !checked) return checked.error();
  return slab;
}

Result<OutputSlab> SlabQueue::open_for(std::int64_t index) {
  const GridRow& found = row_of(grid_, index);
  const auto row = static_cast<std::size_t>(&found - grid_.rows.data());
  const std::size_t open = row - first_open_;
  ensure(row >= first_open_ && open <= open_.size(), "patches are asked for in rising order");
  if (open == open_.size()) {
    Result<OutputSlab> slab = ask(found);
    if (!slab) return slab;
    open_.push_back(*slab);
  }
  return open_[open];
}

Result<void> SlabQueue::aim(std::int64_t first, std::span<StitchTarget> targets) {
  const auto patches = static_cast<std::int64_t>(grid_.patches.size());
  for (std::int64_t s = 0; s < std::ssize(targets); ++s) {
    StitchTarget& target = targets[static_cast<std::size_t>(s)];
    target.patch = grid_.patches[static_cast<std::size_t>(std::min(first + s, patches - 1))];
    if (first + s >= patches) {
      target.patch.own_last = target.patch.own_first;
      continue;
    }
    Result<OutputSlab> slab = open_for(first + s);
    if (!slab) return slab.error();
    target.slab = *slab;
  }
  return {};
}

Result<void> SlabQueue::deliver(std::int64_t patches_done) {
  while (!open_.empty() && grid_.rows[first_open_].end <= patches_done) {
    const OutputSlab slab = open_.front();
    open_.erase(open_.begin());
    ++first_open_;
    if (Result<void> delivered = job_.sink.deliver(slab); !delivered) return delivered;
    planes_done_ = slab.first_plane + slab.shape.n.z;
  }
  return {};
}

}  // namespace znni
