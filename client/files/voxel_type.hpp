// Element types of volume files, with their sizes and their names on the wire and in NumPy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "primitives/core/result.hpp"

namespace znni::client {

enum class VoxelType { u8, u16, f16, f32 };

[[nodiscard]] std::int64_t voxel_bytes(VoxelType type);
[[nodiscard]] std::string wire_name(VoxelType type);   // "UINT8"
[[nodiscard]] std::string numpy_name(VoxelType type);  // "uint8"
// Parses "uint8", "uint16", "float16" or "float32"; the error lists them.
[[nodiscard]] Result<VoxelType> parse_voxel_type(const std::string& name);

// Sets out[i] = in[i] * scale + offset, in float32. `in` holds out.size() voxels of `type` (not f16).
void normalise(std::span<const std::byte> in, VoxelType type, float scale, float offset, std::span<float> out);

}  // namespace znni::client
