#include "server/pipeline/job/gain_meter.hpp"

namespace znni {
namespace {

std::int64_t voxels_owned(const GridPatch& patch) { return voxels(patch.own_last - patch.own_first); }

StageSeconds difference(const StageSeconds& now, const StageSeconds& before) {
  return {now.gather - before.gather, now.head - before.head, now.tail - before.tail, now.stitch - before.stitch, {}};
}

}  // namespace

void GainMeter::tell(std::int64_t done, const StageSeconds& stages) {
  if (!job_.account.gained) return;
  const std::int64_t before = owned_;
  JobGain gain;
  gain.patches = done - patches_;
  for (; patches_ < done; ++patches_) owned_ += voxels_owned(grid_.patches[static_cast<std::size_t>(patches_)]);
  gain.voxels = owned_ / phases_ - before / phases_;
  gain.stages = difference(stages, stages_);
  stages_ = stages;
  job_.account.gained(gain);
}

}  // namespace znni
