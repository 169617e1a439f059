#include "primitives/cpu/fft_tiled/tile_kernels.hpp"

#include <string>

namespace znni::cpu::fft_tiled {

Error no_tile_kernels(std::string_view primitive, int simd_floats) {
  return {ErrorCode::unsupported,
          std::string(primitive) + " is not built for vectors of " + std::to_string(simd_floats) + " floats"};
}

std::int64_t product_scratch(const Tiling& t, const TileKernels& kernels, Products products) {
  const bool three = products == Products::three;
  if (t.packs) {
    const std::int64_t slabs = t.group() * t.in_blocks() + t.in_units();
    const std::int64_t planes = mul(3 * unit_lanes * slabs, (t.out_blocks() + t.out_units()) * t.lanes);
    return add(planes, 3 * slabs * groups_at_once * t.lanes);
  }
  const std::int64_t planes = three ? mul(3 * t.problem.in.f, t.out_blocks() * t.lanes) : 0;
  const std::int64_t copies = (three ? 3 : 2) * t.in_blocks() * kernels.gemm_rows * t.lanes;
  return add(planes, copies);
}

KernelsOf spectra_task(const Tiling& t, std::int64_t index) {
  const std::int64_t own = t.problem.in.f * t.out_blocks();
  if (index < own) return {index / t.out_blocks(), index % t.out_blocks()};
  const std::int64_t rest = index - own;
  return {rest % unit_kernels(t) * unit_lanes, t.out_blocks() + rest / unit_kernels(t)};
}

std::int64_t block_index(const Tiling& t, std::int64_t block, std::int64_t most, std::int64_t channel) {
  std::int64_t index = 0;
  while (true) {
    const BlockGroup group = block_group(t.out_blocks(), most, index++);
    if (block >= group.first + group.blocks) continue;
    return group.first * t.problem.in.f + channel * group.blocks + block - group.first;
  }
}

}  // namespace znni::cpu::fft_tiled
