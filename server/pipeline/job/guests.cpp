#include "server/pipeline/job/guests.hpp"

#include <algorithm>
#include <utility>

#include "primitives/core/clock_time.hpp"
#include "server/pipeline/job/gain_meter.hpp"
#include "server/volume/reader.hpp"

namespace znni {
namespace {

std::int64_t patch_total(const PatchGrid& grid) { return static_cast<std::int64_t>(grid.patches.size()); }

}  // namespace

TensorView entries_of(TensorView in, std::int64_t first, std::int64_t count) {
  in.data = in.channel(first, 0);
  in.shape.S = count;
  return in;
}

Guests::Visit::Visit(Guest who, const Geometry& geometry, Vec3 fov)
    : guest(std::move(who)),
      grid(job_grid(*guest.job, geometry, fov)),
      source(guest.job->input.volume),
      job(*guest.job),
      slabs(job, grid, {1, geometry.values.back().f, guest.job->input.volume.shape.n - fov + Vec3::cube(1)}) {
  job.sink.slab = [this](std::int64_t first_plane, std::int64_t planes) {
    Result<OutputSlab> slab = guest.job->sink.slab(first_plane, planes);
    if (slab) open.push_back(*slab);
    return slab;
  };
  job.sink.deliver = [this](const OutputSlab& slab) {
    std::erase_if(open, [&](const OutputSlab& other) { return other.first_plane == slab.first_plane; });
    return guest.job->sink.deliver(slab);
  };
}

Guests::Guests(std::vector<Guest> guests, const Geometry& geometry, Vec3 fov) : geometry_(geometry) {
  for (Guest& guest : guests) visits_.emplace_back(std::move(guest), geometry, fov);
}

Guests::~Guests() {
  if (delivered_) return;
  for (Visit& visit : visits_) {
    give_back(visit);
    visit.guest.ended(nullptr);
  }
}

void Guests::give_back(Visit& visit) {
  if (!visit.job.sink.abandon) return;
  for (const OutputSlab& slab : visit.open) visit.job.sink.abandon(slab);
}

std::int64_t Guests::entries() const {
  std::int64_t count = 0;
  for (const Visit& visit : visits_) count += patch_total(visit.grid);
  return count;
}

void Guests::aim(std::span<StitchTarget> targets) {
  auto target = targets.begin();
  for (Visit& visit : visits_) {
    for (std::int64_t patch = 0; patch < patch_total(visit.grid); ++patch, ++target) {
      target->patch = visit.grid.patches[static_cast<std::size_t>(patch)];
      const Result<OutputSlab> slab = visit.ran ? visit.slabs.open_for(patch) : Result<OutputSlab>(visit.ran.error());
      if (slab) target->slab = *slab;
      if (!slab) visit.ran = slab.error();
      if (!slab) target->patch.own_last = target->patch.own_first;
    }
  }
}

void Guests::read(Vec3 begin, const TensorView& in, Executor& executor) const {
  std::int64_t first = in.shape.S - entries();
  for (const Visit& visit : visits_) {
    std::vector<Vec3> starts;
    for (const GridPatch& patch : visit.grid.patches) starts.push_back(patch.start + begin);
    read_windows(visit.source, visit.job.input.normalisation, starts, entries_of(in, first, patch_total(visit.grid)),
                 executor, geometry_.choice.axis);
    first += patch_total(visit.grid);
  }
}

void Guests::deliver() {
  delivered_ = true;
  for (Visit& visit : visits_) {
    const std::int64_t count = patch_total(visit.grid);
    if (visit.ran) GainMeter(visit.job, visit.grid, 1).tell(count, {});
    if (visit.ran) visit.ran = visit.slabs.deliver(count);
    if (!visit.ran) give_back(visit);
    if (visit.ran && visit.job.account.progress) visit.job.account.progress({count, count, visit.slabs.planes_done()});
    tell(visit);
  }
}

void Guests::tell(Visit& visit) const {
  JobStatistics statistics;
  statistics.is_guest = true;
  statistics.patches = patch_total(visit.grid);
  statistics.seconds = seconds_since(start_);
  statistics.voxels_per_second =
      static_cast<double>(voxels(visit.slabs.output().n)) / std::max(statistics.seconds, 1e-9);
  const Result<JobStatistics> ended = visit.ran ? Result<JobStatistics>(statistics) : visit.ran.error();
  visit.guest.ended(&ended);
}

}  // namespace znni
