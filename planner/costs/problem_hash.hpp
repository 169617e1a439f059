// A hash of layer problems, for tables that remember what was said of each.
#pragma once

#include <cstddef>

#include "primitives/core/problem.hpp"

namespace znni {

// Equal problems have equal hashes.
struct ProblemHash {
  [[nodiscard]] std::size_t operator()(const LayerProblem& problem) const;
};

// `value` mixed into `seed`, in which order matters.
[[nodiscard]] constexpr std::size_t mixed(std::size_t seed, std::size_t value) {
  std::size_t mix = (seed ^ value) * std::size_t{0x9e3779b97f4a7c15};  // 2^64 over the golden ratio: spreads every bit
  mix ^= mix >> 32U;
  return mix;
}

}  // namespace znni
