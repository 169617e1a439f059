// Decides when a GPU that failed is asked again whether it works: some failures pass (another program held its memory).
// After each failure that stays, the wait doubles. A GPU lost to the process (ErrorCode::device_lost) is never asked.
#pragma once

#include <algorithm>
#include <chrono>

#include "primitives/core/clock_time.hpp"
#include "primitives/core/primitive.hpp"

namespace znni {

class GpuRetry {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr Seconds first_wait = 60;
  static constexpr Seconds longest_wait = 3600;

  explicit GpuRetry(Seconds first = first_wait) : first_(first), wait_(first) {}

  // Notes that the GPU failed, for the first time or again.
  void failed(Clock::time_point now) {
    due_ = now + clock_time(wait_);
    wait_ = std::min(2 * wait_, longest_wait);
  }
  // Notes that the GPU works.
  void passed() { wait_ = first_; }
  [[nodiscard]] bool is_due(Clock::time_point now) const { return now >= due_; }

 private:
  Seconds first_;
  Seconds wait_;  // after the next failure
  Clock::time_point due_;
};

}  // namespace znni
