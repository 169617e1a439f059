// Positions in arrays, of numbers that are never negative: nodes, tensors and buffers are counted by int.
#pragma once

#include <cstddef>

namespace znni {

// Returns the position of number `value`, which must not be negative, as the standard library counts.
[[nodiscard]] constexpr std::size_t index(int value) { return static_cast<std::size_t>(value); }

}  // namespace znni
