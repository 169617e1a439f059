// FNV-1a, 64 bits (Fowler, Noll, Vo): a cheap hash. Mixing bytes one by one gives the published hash; mixing whole
// words gives another one that is faster and just as suitable.
#pragma once

#include <cstdint>

namespace znni {

inline constexpr std::uint64_t fnv_start = 0xcbf29ce484222325;

// Returns `sum` with one more byte or word mixed in.
[[nodiscard]] constexpr std::uint64_t fnv_mixed(std::uint64_t sum, std::uint64_t word) {
  return (sum ^ word) * 0x100000001b3;
}

}  // namespace znni
