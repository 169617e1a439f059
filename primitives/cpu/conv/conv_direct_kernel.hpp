// The inner loops of cpu.conv.direct. They compute one row of output voxels for a block of output channels. The sums
// stay in registers over all input channels and kernel positions and are written once. The caller applies activations.
//
// Two register tilings. Rows of at least 8 voxels are tiled by voxels: vectors of 8 neighbouring voxels, 4 channels.
// Shorter and strided rows are tiled by channels: vectors of 8 channels, up to 7 voxels. Each voxel's sum runs in the
// same order in every tile, so results do not depend on the tiling.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "primitives/core/shape.hpp"
#include "primitives/core/tensor.hpp"

namespace znni::cpu {

inline constexpr std::int64_t direct_lanes = 8;

// Returns whether rows of `voxels` voxels, `step` input voxels apart, are tiled by voxels.
[[nodiscard]] bool is_tiled_by_voxels(std::int64_t voxels, std::int64_t step);

// Returns the number of output channels per block for such rows: 4 or 8.
[[nodiscard]] std::int64_t direct_block_channels(std::int64_t voxels, std::int64_t step = 1);

// Returns the largest number of voxels in a tile by channels of a row of `voxels` voxels.
[[nodiscard]] std::int64_t direct_tile_voxels(std::int64_t voxels);

// Packs kernels [f_out][f][k] as [f_out / block][f][k][block], with channels padded by zeros. `packed` holds
// round_up(f_out, block) * terms floats, terms = f * voxels(k).
void pack_direct_kernels(std::span<const float> kernels, std::int64_t terms, std::int64_t block,
                         std::span<float> packed);

// One row of one block. The rows of input and output are contiguous.
struct DirectRow {
  const float* in = nullptr;  // input channel 0 at the first voxel that the row reads
  Strides in_strides;         // f, z, y are used
  std::int64_t f = 1;
  Vec3 k;
  Vec3 dilation;
  std::int64_t step = 1;           // input voxels from one output voxel of the row to the next
  const float* kernels = nullptr;  // packed, of this block
  const float* bias = nullptr;     // of this block, padded with zeros
  float* out = nullptr;            // first channel of the block at the row's first voxel
  std::int64_t out_f = 0;          // floats from channel to channel
  std::int64_t voxels = 0;         // in the row
  std::int64_t channels = 0;       // existing channels of the block, 1 to direct_block_channels(voxels, step)
};
void direct_row(const DirectRow& row);

}  // namespace znni::cpu
