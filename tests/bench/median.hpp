// The median of several timings.
#pragma once

#include <vector>

#include "primitives/core/primitive.hpp"

namespace znni::bench {

// Returns the median; of an even number the lower of the middle two. Requires at least one.
[[nodiscard]] Seconds median(std::vector<Seconds> seconds);

}  // namespace znni::bench
