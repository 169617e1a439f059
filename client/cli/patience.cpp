#include "client/cli/patience.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <string_view>
#include <utility>

#include "client/cli/progress.hpp"
#include "primitives/core/clock_time.hpp"

namespace znni::client {
namespace {

constexpr double first_delay = 0.25;
constexpr double longest_delay = 30;
constexpr double delay_while_loading = 1;
constexpr std::string_view loading = "is still loading: ";

}  // namespace

bool is_loading(const Error& error) {
  return error.code == ErrorCode::unavailable && error.message.find(loading) != std::string::npos;
}

Patience::Patience(double seconds, std::stop_token stop)
    : stop_(std::move(stop)), end_(Clock::now() + clock_time(seconds)), delay_(first_delay) {}

bool Patience::lasts(const Error& error) const {
  const bool passes = error.code == ErrorCode::over_budget || error.code == ErrorCode::unavailable;
  return passes && seconds_left() > 0;
}

std::string Patience::text(const Error& error) const {
  if (is_loading(error)) return "loading: " + error.message.substr(error.message.find(loading) + loading.size());
  return "trying again for " + duration_text(seconds_left()) + ": " + error.message;
}

bool Patience::wait(const Error& error) {
  const double seconds = std::min(is_loading(error) ? std::min(delay_, delay_while_loading) : delay_, seconds_left());
  delay_ = std::min(2 * delay_, longest_delay);
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any stopped;
  stopped.wait_for(lock, stop_, clock_time(seconds), [] { return false; });
  return !stop_.stop_requested();
}

double Patience::seconds_left() const { return std::chrono::duration<double>(end_ - Clock::now()).count(); }

}  // namespace znni::client
