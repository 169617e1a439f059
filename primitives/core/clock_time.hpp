// Seconds as time of the clock that waits and deadlines are told by.
#pragma once

#include <algorithm>
#include <chrono>

namespace znni {

// Thirty years, as good as without end: sums of more with the clock would overflow.
inline constexpr double longest_clock_time = 1e9;

// Of less than nothing, and of what is no number, none; of more than the longest that one.
[[nodiscard]] inline std::chrono::steady_clock::duration clock_time(double seconds) {
  const double told = seconds > 0 ? std::min(seconds, longest_clock_time) : 0;
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(told));
}

}  // namespace znni
