// SIGTERM and SIGINT as something to wait for, instead of something that interrupts.
#pragma once

#include <signal.h>

#include <chrono>
#include <optional>
#include <stop_token>
#include <thread>

namespace znni {

// Blocks both signals in this thread and every thread started after it, until destroyed. Construct it before any other
// thread is started. While it lives, a broken pipe is not a signal either.
class TerminationSignals {
 public:
  TerminationSignals();
  ~TerminationSignals();
  TerminationSignals(const TerminationSignals&) = delete;
  TerminationSignals& operator=(const TerminationSignals&) = delete;

  // Waits for the next signal and returns its number.
  [[nodiscard]] int wait() const;
  // Does the same, but returns nothing if none came within `timeout`.
  [[nodiscard]] std::optional<int> wait_for(std::chrono::milliseconds timeout) const;

 private:
  sigset_t waited_for_{};
  sigset_t before_{};
};

// Ends the process at a second signal, whatever its threads wait for: exit code 128 and the signal's number, nothing is
// cleaned up.
class SecondSignal {
 public:
  // Waits for the second of `signals`, which must outlive it.
  explicit SecondSignal(const TerminationSignals& signals) : signals_(signals) {}

  // Takes any signal from now on, until destroyed, as the second one, except the first `passed`. If the end began
  // without a signal, the first may be a supervisor's. If the system grants no thread for it, no signal is the second.
  void watch(int passed = 0);

 private:
  const TerminationSignals& signals_;
  std::jthread thread_;
};

// Asks for a stop when a signal comes, as long as it lives.
class StopAtSignal {
 public:
  // `signals` must outlive it, and so must `signal`, the first one: if none came before, it is written when one comes,
  // and may be read again once this is destroyed. If the system grants no thread, no signal is seen meanwhile.
  StopAtSignal(const TerminationSignals& signals, std::optional<int>& signal);

  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }

 private:
  std::stop_source stop_;
  std::jthread thread_;  // ends before the source
};

}  // namespace znni
