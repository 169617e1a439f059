#include "server/port_watch.hpp"

#include <condition_variable>

namespace znni {

void PortWatch::run(const Ask& ask, std::chrono::milliseconds period, const std::stop_token& stop) {
  std::mutex mutex;  // guards nothing but the wait
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  while (!stop.stop_requested()) {
    const Clock::time_point asked = Clock::now();
    note(ask(), asked);
    never.wait_for(lock, stop, period, [] { return false; });
  }
}

void PortWatch::note(const Result<void>& answer, Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  failure_ = answer ? std::nullopt : std::optional(answer.error());
  if (answer || !answered_) answered_ = now;
}

std::optional<std::string> PortWatch::deaf_reason(Clock::time_point now) const {
  const std::scoped_lock lock(mutex_);
  if (!failure_ || now - *answered_ < patience_) return std::nullopt;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - *answered_);
  return "the gRPC port has not answered the daemon itself for " + std::to_string(seconds.count()) +
         " s: " + failure_->message;
}

}  // namespace znni
