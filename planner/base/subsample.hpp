// A few of many extents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace znni {

// Returns `count` of `extents` (rising), spread geometrically over their distance from the smallest; the smallest and
// the largest included.
[[nodiscard]] std::vector<std::int64_t> subsample(const std::vector<std::int64_t>& extents, std::size_t count);

// Returns the largest of `extents` (rising), those closest below its half, its quarter and so on, and the smallest;
// rising.
[[nodiscard]] std::vector<std::int64_t> halved(const std::vector<std::int64_t>& extents);

}  // namespace znni
