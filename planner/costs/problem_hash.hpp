// A hash of layer problems, for tables that remember what was said of each.
#pragma once

#include <cstddef>

#include "primitives/core/problem.hpp"
#include "primitives/core/problems/hash.hpp"

namespace znni {

// Equal problems have equal hashes.
struct ProblemHash {
  [[nodiscard]] std::size_t operator()(const LayerProblem& problem) const;
};

}  // namespace znni
