// Rows of channel blocks to and from the scratch of a layer that computes in bf16. Compiled for the vectors of
// processors that have AVX-512.
#pragma once

#include <cstdint>

namespace znni::cpu {

// Channels of a block: they lie side by side, voxel after voxel.
inline constexpr std::int64_t bf16_block = 16;

// Rounds the blocks of `voxels` voxels, which are `from_step` floats apart, to the nearest bf16, ties to even. NaNs
// stay. At `to` there is no gap between them.
void round_to_bf16(const float* from, std::int64_t from_step, std::uint16_t* to, std::int64_t voxels);

// Copies the blocks of `voxels` voxels. Channels from `channels` on become zero.
void copy_blocks(const float* from, std::int64_t from_step, float* to, std::int64_t to_step, std::int64_t voxels,
                 std::int64_t channels);

}  // namespace znni::cpu
