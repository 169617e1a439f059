// Sizes of weights (planner/network/network.hpp has the rest).
#pragma once

#include <cstdint>

#include "planner/network/network.hpp"

namespace znni {

// Values in the four vectors of a node's weights.
struct WeightSizes {
  std::int64_t kernels = 0;
  std::int64_t bias = 0;
  std::int64_t scale = 0;
  std::int64_t shift = 0;
};

// Returns the sizes for a node that reads `f` channels; saturates.
[[nodiscard]] WeightSizes weight_sizes(const Operation& operation, std::int64_t f);
// Returns the sum of the sizes; saturates.
[[nodiscard]] std::int64_t parameter_count(const WeightSizes& sizes);

}  // namespace znni
