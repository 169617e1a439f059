// The checks of each operation: by itself, and with the values that it reads. check() asks for all of it
// (planner/network/network.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "planner/network/network.hpp"

namespace znni {

// Far beyond any net of use; they keep all arithmetic on extents from overflowing.
inline constexpr std::int64_t max_reach = std::int64_t{1} << 20;
inline constexpr std::int64_t max_channels = std::int64_t{1} << 24;

// A value that a node reads.
struct InputValue {
  std::string name;
  Reach reach;
  std::int64_t channels = 0;
};

// Fails unless the operation's own numbers are within bounds. Windows and strides are 1 along the axes that the rank
// lacks, borders 0. The error names the number.
[[nodiscard]] Result<void> check_operation(const Operation& operation, int spatial_rank);

// Fails unless the border is in [0, 2^20], and 0 along the axes that the rank lacks.
[[nodiscard]] Result<void> check_border(std::string_view name, const Border& border, int spatial_rank);

// Fails unless the operation reads that many inputs.
[[nodiscard]] Result<void> check_input_count(const Operation& operation, std::size_t count);

// Fails unless the inputs meet with equal reach, and their channels suit the operation. Requires check_operation() and
// check_input_count().
[[nodiscard]] Result<void> check_meeting(const Operation& operation, std::span<const InputValue> inputs);

// Returns "field of view 3x3x3, stride 1x1x1".
[[nodiscard]] std::string reach_text(const Reach& reach);

}  // namespace znni
