#include "server/signals.hpp"

#include <pthread.h>

#include <cstdlib>
#include <system_error>

#include "primitives/core/result.hpp"

namespace znni {

TerminationSignals::TerminationSignals() {
  sigset_t blocked;
  sigemptyset(&waited_for_);
  sigaddset(&waited_for_, SIGTERM);
  sigaddset(&waited_for_, SIGINT);
  blocked = waited_for_;
  sigaddset(&blocked, SIGPIPE);
  ensure(pthread_sigmask(SIG_BLOCK, &blocked, &before_) == 0, "signals cannot be blocked");
}

TerminationSignals::~TerminationSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

int TerminationSignals::wait() const {
  int signal = 0;
  while (sigwait(&waited_for_, &signal) != 0) {
  }
  return signal;
}

std::optional<int> TerminationSignals::wait_for(std::chrono::milliseconds timeout) const {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout);
  const std::chrono::nanoseconds rest = timeout - seconds;
  const timespec longest{seconds.count(), rest.count()};
  const int signal = sigtimedwait(&waited_for_, nullptr, &longest);
  if (signal < 0) return std::nullopt;
  return signal;
}

void SecondSignal::watch(int passed) {
  const auto wait = [this, left = passed](const std::stop_token& stop) mutable {
    while (!stop.stop_requested()) {
      const std::optional<int> signal = signals_.wait_for(std::chrono::milliseconds(50));
      if (signal && left-- == 0) std::_Exit(128 + *signal);
    }
  };
  try {
    thread_ = std::jthread(wait);
  } catch (const std::system_error&) {
    // The end goes on as it would without a second signal.
  }
}

StopAtSignal::StopAtSignal(const TerminationSignals& signals, std::optional<int>& signal) {
  const auto wait = [this, &signals, &signal](const std::stop_token& ended) {
    while (!signal && !ended.stop_requested()) signal = signals.wait_for(std::chrono::milliseconds(20));
    if (signal) stop_.request_stop();
  };
  try {
    thread_ = std::jthread(wait);
  } catch (const std::system_error&) {
    // The signal is seen when this is over.
  }
}

}  // namespace znni
