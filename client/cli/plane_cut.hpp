// Rows and columns of a plane.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "client/files/bbox.hpp"

namespace znni::client {

// Copies rows and columns of `box` of a plane, [channels][n.y][n.x] voxels of `bytes` bytes, into `out`, and returns
// it. Ignores the z range of `box`, and n.z.
[[nodiscard]] std::span<const std::byte> cut_plane(std::span<const std::byte> plane, std::int64_t channels, Vec3 n,
                                                   const Box& box, std::int64_t bytes, std::vector<std::byte>& out);

}  // namespace znni::client
