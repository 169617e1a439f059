// Checks that several operations share.
#pragma once

#include <string>
#include <string_view>

#include "planner/network/operation_check.hpp"

namespace znni {

[[nodiscard]] inline Error invalid_operation(std::string message) {
  return {ErrorCode::invalid_argument, std::move(message)};
}

// Fails unless it is at least `least` along each axis, and no more along those that the rank lacks.
[[nodiscard]] Result<void> check_within(std::string_view name, Vec3 value, std::int64_t least, int spatial_rank);

// Fails unless it is in [1, 2^20] along each axis, and 1 along those that the rank lacks.
[[nodiscard]] inline Result<void> check_positive(std::string_view name, Vec3 value, int spatial_rank) {
  return check_within(name, value, 1, spatial_rank);
}

// Fails unless alpha is finite.
[[nodiscard]] Result<void> check_activation(Activation activation);

// Fails unless it is above 0.
[[nodiscard]] Result<void> check_norm_epsilon(float epsilon);

// Fails unless both have the same reach.
[[nodiscard]] Result<void> check_reaches_meet(const InputValue& first, const InputValue& other);

}  // namespace znni
