// Waits for a daemon that has no room at the moment, is not there, or still loads the model.
#pragma once

#include <chrono>
#include <stop_token>
#include <string>

#include "primitives/core/result.hpp"

namespace znni::client {

// Returns whether the error is that a daemon still loads the model: its message says how far it is.
[[nodiscard]] bool is_loading(const Error& error);

class Patience {
 public:
  // Allows waiting for at most `seconds` from now, and until `stop`.
  Patience(double seconds, std::stop_token stop);
  // Returns whether the error may be temporary and there is time left.
  [[nodiscard]] bool lasts(const Error& error) const;
  // Returns what the user is told before a wait: "trying again for 9:59: " and the error. While the model loads it is
  // "loading: " and how far that is, which is to fit on a row of a terminal.
  [[nodiscard]] std::string text(const Error& error) const;
  // Waits before the next attempt: longer each time, but not while the model loads, for what the daemon tells of that
  // is shown. Returns false if stopped.
  [[nodiscard]] bool wait(const Error& error);
  [[nodiscard]] double seconds_left() const;

 private:
  using Clock = std::chrono::steady_clock;
  std::stop_token stop_;
  Clock::time_point end_;
  double delay_;  // length of the next wait, in seconds
};

}  // namespace znni::client
