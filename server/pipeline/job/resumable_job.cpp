#include "server/pipeline/job/resumable_job.hpp"

#include <algorithm>

namespace znni {

void RisingSource::want(const PlaneRange& planes) {
  most_ = {std::max(most_.first, planes.first), std::max(most_.last, planes.last)};
  source_.want(most_);
}

ResumableJob::ResumableJob(const VolumeJob& whole)
    : whole_(whole),
      input_(whole.input.volume),
      source_(whole.input.source == nullptr ? input_ : *whole.input.source),
      job_(whole),
      next_plane_(whole.sink.first_plane) {
  job_.input.source = &source_;
  job_.sink.slab = [this](std::int64_t first_plane, std::int64_t planes) {
    Result<OutputSlab> slab = whole_.sink.slab(first_plane, planes);
    if (slab) open_.push_back(*slab);
    return slab;
  };
  job_.sink.deliver = [this](const OutputSlab& slab) {
    std::erase_if(open_, [&](const OutputSlab& open) { return open.first_plane == slab.first_plane; });
    next_plane_ = slab.first_plane + slab.shape.n.z;
    delivered_ += voxels(slab.shape.n);
    return whole_.sink.deliver(slab);
  };
  if (whole_.account.gained) job_.account.gained = [this](const JobGain& gain) { tell(gain); };
}

void ResumableJob::tell(JobGain gain) {
  computed_ += gain.voxels;
  gain.voxels = std::max<std::int64_t>(computed_ - told_, 0);
  told_ += gain.voxels;
  whole_.account.gained(gain);
}

void ResumableJob::go_back() {
  if (whole_.sink.abandon) {
    for (const OutputSlab& slab : open_) whole_.sink.abandon(slab);
  }
  open_.clear();
  job_.sink.first_plane = next_plane_;
  computed_ = delivered_;
}

}  // namespace znni
