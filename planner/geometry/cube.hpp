// Cubes of nets of any rank: along the axes that a net lacks every extent is 1.
#pragma once

#include "primitives/core/shape.hpp"

namespace znni {

[[nodiscard]] constexpr Vec3 cube_of(std::int64_t edge, int rank) {
  return {rank > 2 ? edge : 1, rank > 1 ? edge : 1, edge};
}

[[nodiscard]] constexpr bool is_cube(Vec3 n, int rank) { return n == cube_of(n.x, rank); }

}  // namespace znni
