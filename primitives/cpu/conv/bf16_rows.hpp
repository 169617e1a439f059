// Rows of channel blocks to and from the scratch of a layer that computes in bf16: there channels are last, 16 of each
// voxel side by side. Compiled for the vectors of processors that have matrix units.
#pragma once

#include <cstdint>

namespace znni::cpu {

// Rounds 16 channels of each of `voxels` voxels to the nearest bf16, ties to even; NaNs stay. Voxels are `from_step`
// floats and `to_step` elements apart.
void round_to_bf16(const float* from, std::int64_t from_step, std::uint16_t* to, std::int64_t to_step,
                   std::int64_t voxels);

// Copies 16 channels of each voxel; those from the channel `channels` on become zero.
void copy_blocks(const float* from, std::int64_t from_step, float* to, std::int64_t to_step, std::int64_t voxels,
                 std::int64_t channels);

}  // namespace znni::cpu
