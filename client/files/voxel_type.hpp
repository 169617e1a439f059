// Element types of volume files, with their sizes and their names on the wire and in NumPy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "primitives/core/result.hpp"

namespace znni::client {

// u32 and u64 are types of labels alone.
enum class VoxelType { u8, u16, f16, f32, u32, u64 };

// Returns whether labels alone have the type.
[[nodiscard]] constexpr bool is_label_type(VoxelType type) { return type == VoxelType::u32 || type == VoxelType::u64; }
[[nodiscard]] std::int64_t voxel_bytes(VoxelType type);
// Returns the type of whole numbers without a sign that have so many bytes; nothing if there is none.
[[nodiscard]] std::optional<VoxelType> unsigned_type(std::int64_t bytes);
[[nodiscard]] std::string wire_name(VoxelType type);   // "UINT8"
[[nodiscard]] std::string numpy_name(VoxelType type);  // "uint8"
// Parses "uint8", "uint16", "float16" or "float32"; the error lists them.
[[nodiscard]] Result<VoxelType> parse_voxel_type(const std::string& name);

// Sets out[i] = in[i] * scale + offset, in float32. `in` holds out.size() voxels of `type` (not f16, u32 or u64).
void normalise(std::span<const std::byte> in, VoxelType type, float scale, float offset, std::span<float> out);

}  // namespace znni::client
