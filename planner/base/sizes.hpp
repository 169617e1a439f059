// Sizes, times and extents as people type them on a command line.
#pragma once

#include <cstdint>
#include <string_view>

#include "primitives/core/primitive.hpp"

namespace znni {

// Reads "256G", "256GiB", "256 GB", "1.5T", "512m" or "1048576": binary units, K to P, in any case. Returns whole
// bytes, rounded down; at least 1.
[[nodiscard]] Result<std::int64_t> parse_bytes(std::string_view text);

// Includes both ends.
struct MemoryRange {
  std::int64_t from = 0;
  std::int64_t to = 0;
  bool operator==(const MemoryRange&) const = default;
};
// Reads "1G..256G": two sizes as above, the second not below the first.
[[nodiscard]] Result<MemoryRange> parse_byte_range(std::string_view text);

// Reads "90s", "10m", "1.5h" or "90" (seconds). The result is above zero.
[[nodiscard]] Result<Seconds> parse_duration(std::string_view text);

// Reads "Z,Y,X" or "ZxYxX", each at least 1.
[[nodiscard]] Result<Vec3> parse_extents(std::string_view text);

}  // namespace znni
