// The ways to compute a layer that are worth a run on the GPU.
#pragma once

#include <cstddef>
#include <vector>

#include "primitives/core/primitive.hpp"

namespace znni::gpu_bench {

struct Candidate {
  const Primitive* primitive = nullptr;
  Estimate estimate;
  double seconds = 0;  // measured
};

// Returns at most `most` ways, in order of their modelled time, but the best of each kind first, unless it is hopeless:
// models may err more about one kind than about another. A kind is a primitive and, of a library's, form and engine;
// its other settings come behind.
[[nodiscard]] std::vector<Candidate> most_promising(std::vector<Candidate> all, std::size_t most);

}  // namespace znni::gpu_bench
