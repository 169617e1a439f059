// The compression of chunks of HDF5: bytes of like weight side by side (its filter shuffle), then gzip.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace znni::client {

inline constexpr unsigned gzip_level = 1;  // the fastest

// Returns the fewest bytes that deflate makes of so many: a copy of 258 bytes takes two bits at least.
[[nodiscard]] constexpr std::int64_t min_packed_bytes(std::int64_t bytes) {
  return bytes / 1032 + (bytes % 1032 != 0 ? 1 : 0);
}
// Returns voxels of `width` bytes each as the filters shuffle and deflate leave them.
[[nodiscard]] std::vector<std::byte> pack(std::span<const std::byte> voxels, std::int64_t width);
// Sets `voxels` to what pack() was given. Returns false if `packed` is not so many voxels of `width` bytes.
[[nodiscard]] bool unpack(std::span<const std::byte> packed, std::int64_t width, std::span<std::byte> voxels);

}  // namespace znni::client
