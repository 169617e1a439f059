// Types of numbers in volume files: their sizes, names and bytes, and what they become in float32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "primitives/core/result.hpp"

namespace znni::client {

enum class VoxelType { u8, u16, u32, u64, i8, i16, i32, i64, f16, f32, f64 };
enum class VoxelKind { unsigned_whole, signed_whole, real };

[[nodiscard]] VoxelKind kind_of(VoxelType type);
[[nodiscard]] std::int64_t voxel_bytes(VoxelType type);
// Returns the type of numbers of so many bytes; nothing if there is none.
[[nodiscard]] std::optional<VoxelType> voxel_type(VoxelKind kind, std::int64_t bytes);
[[nodiscard]] std::string wire_name(VoxelType type);   // "UINT8"
[[nodiscard]] std::string numpy_name(VoxelType type);  // "uint8"
// Returns that `label` holds no voxels that are read: "LABEL: FOUND found, expected ...".
[[nodiscard]] Error not_read(const std::string& label, const std::string& found);

// Returns the type that voxels are sent as: u8, u16, f16 and f32 are sent as they are, all others as f32.
[[nodiscard]] VoxelType sent_type(VoxelType type);
// Parses the type of an output: "float32", "float16" or "uint8"; the error lists them.
[[nodiscard]] Result<VoxelType> parse_output_type(const std::string& name);

// Reverses the bytes of each voxel of `width` bytes.
void swap_bytes(std::span<std::byte> voxels, std::int64_t width);

// Both take out.size() voxels of `type`, in the byte order of this machine and not necessarily aligned.
// Sets out[i] to the float32 that is nearest to in[i]. Fails for a whole number beyond 2^24, because it may become
// another: up to there float32 holds each. NaN and infinities stay, and what is too large becomes infinite.
[[nodiscard]] Result<void> to_float32(std::span<const std::byte> in, VoxelType type, std::span<float> out);
// Sets out[i] = in[i] * scale + offset, computed in float64 and rounded to float32 once.
void normalise(std::span<const std::byte> in, VoxelType type, float scale, float offset, std::span<float> out);

}  // namespace znni::client
