// Checks that several kinds of problems share.
#pragma once

#include <string>

#include "primitives/core/result.hpp"
#include "primitives/core/shape.hpp"

namespace znni {

[[nodiscard]] inline Error invalid_problem(std::string message) {
  return {ErrorCode::invalid_argument, std::move(message)};
}

// Returns "stride.z" and the like.
[[nodiscard]] std::string axis_text(const char* name, int axis);

// Fails unless each component is in [1, 2^20].
[[nodiscard]] Result<void> check_positive(const char* name, Vec3 value);

// Fails unless n covers the window along each axis.
[[nodiscard]] Result<void> check_covers(Vec3 n, Vec3 window);

// Fails unless it is above 0.
[[nodiscard]] Result<void> check_epsilon(float epsilon);

}  // namespace znni
