#include "primitives/cpu/grad/tile_transforms.hpp"

#include <algorithm>

namespace znni::cpu::fft_tiled {

std::int64_t TileTransforms::window_tasks(std::int64_t batch) const {
  return div_up(tiling_.stacks_of(batch), stacks_at_once(tiling_.in_blocks())) * tiling_.planes();
}

std::int64_t TileTransforms::tile_tasks(std::int64_t batch) const {
  return tiling_.stacks_of(batch) * tiling_.tiles().z * tiling_.m().z;
}

void TileTransforms::transform_window(const TensorView& in, Vec3 border, std::int64_t batch, std::int64_t task,
                                      float* spectra, float* scratch) const {
  const std::int64_t stacks = tiling_.stacks_of(batch);
  const std::int64_t at_once = stacks_at_once(tiling_.in_blocks());
  const std::int64_t groups = div_up(stacks, at_once);
  const std::int64_t place = task % groups * at_once;
  const std::int64_t z = task / groups;
  float* const plane = spectra + z * tiling_.plane_step() + place * tiling_.stack_step();
  kernels_.forward({&tiling_, &in, batch * tiling_.stacks_per_batch + place, std::min(at_once, stacks - place), z,
                    plane, scratch, border});
}

// A stack's tensor ends behind the m voxels of its phase, so that zeros follow.
void TileTransforms::transform_tile(const TensorView& out, std::int64_t batch, std::int64_t task, float* spectra,
                                    float* scratch) const {
  const std::int64_t stacks = tiling_.stacks_of(batch);
  const std::int64_t place = task % stacks;
  const std::int64_t first = batch * tiling_.stacks_per_batch + place;
  const Stack stack = stack_at(tiling_, first);
  TensorView window = out;
  const Vec3 apart = tiling_.phases.dilation;
  window.shape.n.y = std::min(out.shape.n.y, (stack.y + tiling_.m().y) * apart.y + stack.phase.y);
  window.shape.n.x = std::min(out.shape.n.x, (stack.x + tiling_.m().x) * apart.x + stack.phase.x);
  const std::int64_t z = task / stacks;
  float* const plane = spectra + z * tiling_.plane_step() + place * tiling_.stack_step();
  kernels_.forward({&of_output_, &window, first, 1, z, plane, scratch});
}

}  // namespace znni::cpu::fft_tiled
