// FNV-1a, 64 bits (Fowler, Noll, Vo): a cheap sum that tells values apart. Of bytes one by one it is the published one;
// of whole words it is faster and serves as well.
#pragma once

#include <cstdint>

namespace znni {

inline constexpr std::uint64_t fnv_start = 0xcbf29ce484222325;

// `sum` with one more byte, or word.
[[nodiscard]] constexpr std::uint64_t fnv_mixed(std::uint64_t sum, std::uint64_t word) {
  return (sum ^ word) * 0x100000001b3;
}

}  // namespace znni
