// Converts extents to and from lists of numbers as files have them: "k: 4", "k: [1, 5, 5]".
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "primitives/core/shape.hpp"

namespace znni {

// Returns the extent of a list. One value applies to each of the last `rank` axes; `rank` values are one per axis.
// Leading axes that the file does not have are 1. The error names the field and what was found.
[[nodiscard]] Result<Vec3> extent_of(std::string_view field, std::span<const std::int64_t> values, int rank);

// Returns z, y, x.
[[nodiscard]] std::vector<std::int64_t> values_of(Vec3 extent);

}  // namespace znni
