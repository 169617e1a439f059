// Counts the jobs inside, and lets no more in when the process is to end.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <utility>

#include "primitives/core/result.hpp"

namespace znni {

class Admission {
 public:
  // One job inside; must not outlive its Admission.
  class Entrance {
   public:
    explicit Entrance(Admission& admission) : admission_(&admission) {}
    Entrance(Entrance&& other) noexcept : admission_(std::exchange(other.admission_, nullptr)) {}
    Entrance& operator=(Entrance&&) = delete;
    ~Entrance();

   private:
    Admission* admission_;
  };

  // Lets a job in. Fails with `unavailable` once drain() was called.
  [[nodiscard]] Result<Entrance> enter();
  [[nodiscard]] bool open() const;
  // Returns the token that asks jobs inside to end.
  [[nodiscard]] std::stop_token stop_token() const { return stop_.get_token(); }
  // Returns why a job inside ended with `error`: `unavailable` if drain() stopped it, and not its `caller`.
  [[nodiscard]] Error reason(const Error& error, const std::stop_token& caller) const;

  // Closes the door; returns when no job is inside. After `timeout_seconds` it asks the jobs inside to stop.
  void drain(double timeout_seconds);

 private:
  void leave();

  mutable std::mutex mutex_;  // guards inside_ and open_
  std::condition_variable left_;
  std::int64_t inside_ = 0;
  bool open_ = true;
  std::stop_source stop_;
};

// A stop that comes when either of two does.
class StopOfEither {
 public:
  StopOfEither(const std::stop_token& a, const std::stop_token& b) : on_a_(a, Ask{source_}), on_b_(b, Ask{source_}) {}
  [[nodiscard]] std::stop_token token() const { return source_.get_token(); }

 private:
  struct Ask {
    std::stop_source source;  // shares its state
    void operator()() { source.request_stop(); }
  };
  std::stop_source source_;
  std::stop_callback<Ask> on_a_;
  std::stop_callback<Ask> on_b_;
};

}  // namespace znni
