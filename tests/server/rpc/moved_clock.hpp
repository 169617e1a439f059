// A clock that stands still until a test moves it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "server/rpc/base/now.hpp"

namespace znni::rpc {

class MovedClock {
 public:
  // Returns what tells its time, which may outlive it.
  [[nodiscard]] Now now() const {
    return [state = state_] {
      ++state->asked;
      return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(state->nanoseconds));
    };
  }
  void advance(std::chrono::nanoseconds by) { state_->nanoseconds += by.count(); }
  // Lets time pass fast until `condition` comes true; then it stands still again.
  void pass_until(const std::function<bool()>& condition) {
    while (!condition()) {
      advance(std::chrono::seconds(1));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  // Returns how often it was asked.
  [[nodiscard]] std::int64_t asked() const { return state_->asked; }

 private:
  struct State {
    std::atomic<std::int64_t> nanoseconds = 3'600'000'000'000;
    std::atomic<std::int64_t> asked = 0;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();  // shared with those who ask
};

}  // namespace znni::rpc
