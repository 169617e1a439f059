// The inner loops of cpu.conv.direct: one row of output voxels of a block of output images, accumulated in
// registers over all input images and kernel positions, written once. Activations are the caller's.
//
// Two register tilings: by voxels (vectors of 8 neighbouring voxels, 4 images) for rows of at least 8 voxels,
// by images (vectors of 8 images, up to 7 voxels) for shorter ones. Each voxel's sum runs in the same order
// whatever tile it falls into, so results do not depend on the tiling.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "primitives/core/shape.hpp"
#include "primitives/core/tensor.hpp"

namespace znni::cpu {

inline constexpr std::int64_t direct_lanes = 8;

// Output images per block for rows of `voxels` voxels: 4 or 8.
[[nodiscard]] std::int64_t direct_block_images(std::int64_t voxels);

// Kernels [f_out][f][k] as [f_out / block][f][k][block], images padded with zeros. `packed` holds
// round_up(f_out, block) * terms floats, terms = f * voxels(k).
void pack_direct_kernels(std::span<const float> kernels, std::int64_t terms, std::int64_t block,
                         std::span<float> packed);

// One row of one block. Rows of input and output are contiguous.
struct DirectRow {
  const float* in = nullptr;  // input image 0 at the first voxel the row reads
  Strides in_strides;         // f, z, y are used
  std::int64_t f = 1;
  Vec3 k;
  Vec3 dilation;
  const float* kernels = nullptr;  // packed, of this block
  const float* bias = nullptr;     // of this block, padded with zeros
  float* out = nullptr;            // first image of the block at the row's first voxel
  std::int64_t out_f = 0;          // floats from image to image
  std::int64_t voxels = 0;         // in the row
  std::int64_t images = 0;         // of the block that exist, 1 to direct_block_images(voxels)
};
void direct_row(const DirectRow& row);

}  // namespace znni::cpu
