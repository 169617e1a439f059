// Finds the first voxel of an input file that is NaN or infinite. The daemon refuses such voxels and names the position
// in the stream; people need the position in their file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "client/files/bbox.hpp"
#include "client/files/voxel_type.hpp"

namespace znni::client {

// A voxel of a file, at `at` of its channel.
struct NonfiniteVoxel {
  std::int64_t channel = 0;
  Vec3 at;
  float value = 0;
};

// Returns "channel 0, z 4, y 2, x 7 (nan)".
[[nodiscard]] std::string to_string(const NonfiniteVoxel& voxel);

// Returns the first voxel of plane `z` that is NaN or infinite. `bytes` are the rows and columns of `box` in that
// plane, [channels][y][x], as they are sent; the z range of `box` does not matter.
[[nodiscard]] std::optional<NonfiniteVoxel> find_nonfinite(std::span<const std::byte> bytes, VoxelType type,
                                                           std::int64_t z, const Box& box);

}  // namespace znni::client
