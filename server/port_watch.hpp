// Watches if the daemon's own gRPC port answers.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "primitives/core/result.hpp"

namespace znni {

// Thread safe.
class PortWatch {
 public:
  using Clock = std::chrono::steady_clock;
  // Asks the port once and waits for the answer, for a bounded time.
  using Ask = std::function<Result<void>()>;

  // Calls a port deaf that has answered nothing for `patience`: one answer may be late if all processors compute.
  explicit PortWatch(std::chrono::milliseconds patience) : patience_(patience) {}

  // Asks at once, then a `period` after each answer, until `stop`.
  void run(const Ask& ask, std::chrono::milliseconds period, const std::stop_token& stop);
  // Notes what a question, asked at `now`, came to.
  void note(const Result<void>& answer, Clock::time_point now);
  // Returns why the port is deaf at `now`, in one line; nothing while it is not, or has not been asked. Waits for
  // nothing.
  [[nodiscard]] std::optional<std::string> deaf_reason(Clock::time_point now = Clock::now()) const;

 private:
  const std::chrono::milliseconds patience_;
  mutable std::mutex mutex_;                   // guards all below
  std::optional<Clock::time_point> answered_;  // last, or asked first
  std::optional<Error> failure_;               // of the last question
};

}  // namespace znni
