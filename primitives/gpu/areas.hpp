// Work areas of libraries: arenas grant at multiples of 64 bytes, cuBLAS refuses what is not a multiple of 256.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "primitives/core/shape.hpp"

namespace znni::cuda {

inline constexpr std::int64_t area_alignment = 256;

// Returns the bytes that are declared for an area of `bytes`.
[[nodiscard]] constexpr std::int64_t area_bytes(std::int64_t bytes) { return add(bytes, area_alignment); }

// Returns the aligned part of what was granted: as much as was given to area_bytes().
[[nodiscard]] inline std::span<std::byte> aligned_area(std::span<std::byte> granted) {
  const auto at = static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(granted.data()) % area_alignment);
  const std::size_t ahead = at == 0 ? 0 : static_cast<std::size_t>(area_alignment) - at;
  return granted.subspan(ahead, granted.size() - static_cast<std::size_t>(area_alignment));
}

}  // namespace znni::cuda
