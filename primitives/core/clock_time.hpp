// Converts seconds to a duration of the clock used for waits and deadlines.
#pragma once

#include <algorithm>
#include <chrono>

namespace znni {

// Thirty years, in effect no limit: adding a much longer duration to the clock's time would overflow.
inline constexpr double longest_clock_time = 1e9;

// Converts seconds to a duration. Negative values and NaN give zero; larger values are clamped to the maximum.
[[nodiscard]] inline std::chrono::steady_clock::duration clock_time(double seconds) {
  const double told = seconds > 0 ? std::min(seconds, longest_clock_time) : 0;
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(told));
}

}  // namespace znni
