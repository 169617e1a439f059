// SIGTERM and SIGINT as something to wait for, instead of something that interrupts.
#pragma once

#include <signal.h>

#include <chrono>
#include <optional>

namespace znni {

// Blocks both signals in this thread and every thread started after it, until destroyed. Construct it before
// any other thread is started. A broken pipe is no signal either while it lives.
class TerminationSignals {
 public:
  TerminationSignals();
  ~TerminationSignals();
  TerminationSignals(const TerminationSignals&) = delete;
  TerminationSignals& operator=(const TerminationSignals&) = delete;

  // The next signal's number.
  [[nodiscard]] int wait() const;
  // The same, or nothing when none came within `timeout`.
  [[nodiscard]] std::optional<int> wait_for(std::chrono::milliseconds timeout) const;

 private:
  sigset_t waited_for_{};
  sigset_t before_{};
};

}  // namespace znni
