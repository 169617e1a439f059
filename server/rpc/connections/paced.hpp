// Something that happens often and is told of seldom.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace znni::rpc {

class Paced {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Paced(Clock::duration pause) : pause_(pause) {}

  // Notes that it happened at `now`. Returns how often it has since it was told of last, if it is time to tell again.
  [[nodiscard]] std::optional<std::int64_t> happened(Clock::time_point now) {
    ++untold_;
    if (told_ && now - *told_ < pause_) return std::nullopt;
    told_ = now;
    return std::exchange(untold_, 0);
  }

 private:
  const Clock::duration pause_;
  std::optional<Clock::time_point> told_;
  std::int64_t untold_ = 0;
};

}  // namespace znni::rpc
