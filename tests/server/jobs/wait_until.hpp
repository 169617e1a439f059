// Waits for other threads to get somewhere, without timing anything: a condition that never comes true fails
// the test after ten minutes.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace znni::test {

[[nodiscard]] inline bool wait_until(const std::function<bool()>& condition) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace znni::test
