// Seconds, and the clock used for waits, deadlines and statistics.
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

// Returns the seconds that passed since `start`.
[[nodiscard]] inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace znni
