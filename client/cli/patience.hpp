// Waiting, longer each time, for a daemon that has no room just now.
#pragma once

#include <chrono>
#include <stop_token>

#include "primitives/core/result.hpp"

namespace znni::client {

class Patience {
 public:
  // At most `seconds` from now on, and until `stop`.
  Patience(double seconds, std::stop_token stop);
  // Whether what failed so may pass by itself, and there is time for it.
  [[nodiscard]] bool lasts(const Error& error) const;
  // Before the next attempt. False: stopped.
  [[nodiscard]] bool wait();
  [[nodiscard]] double seconds_left() const;

 private:
  using Clock = std::chrono::steady_clock;
  std::stop_token stop_;
  Clock::time_point end_;
  double delay_;  // of the next wait, in seconds
};

}  // namespace znni::client
