// The middle of several timings.
#pragma once

#include <vector>

#include "primitives/core/primitive.hpp"

namespace znni::bench {

// The middle one; of an even number the lower of the two. There must be one.
[[nodiscard]] Seconds median(std::vector<Seconds> seconds);

}  // namespace znni::bench
