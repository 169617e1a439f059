// Counts the calls that carry volumes or weigh how they are best sent, bounds them and closes for shutdown. Health and
// metadata calls do not pass here, so that they answer while all of these wait.
#pragma once

#include <condition_variable>
#include <mutex>
#include <utility>

#include "primitives/core/result.hpp"

namespace znni::rpc {

// What is refused for the end of the server, unavailable.
[[nodiscard]] Error shutting_down();

class CallGate;

// A call that was let in; leaves when destroyed. Must not outlive its gate.
class CallPass {
 public:
  explicit CallPass(CallGate& gate) : gate_(&gate) {}
  CallPass(CallPass&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}
  CallPass& operator=(CallPass&&) = delete;
  ~CallPass();

 private:
  CallGate* gate_;
};

class CallGate {
 public:
  explicit CallGate(int most_calls) : most_calls_(most_calls) {}

  // unavailable when `most_calls` are inside or the gate is closed.
  [[nodiscard]] Result<CallPass> enter();
  // From now on nobody enters.
  void close();
  [[nodiscard]] bool closed() const;
  // Waits until nobody is inside; false when `seconds` passed first.
  [[nodiscard]] bool wait_empty(double seconds);

 private:
  friend class CallPass;
  void leave();

  const int most_calls_;
  mutable std::mutex mutex_;  // guards inside_, closed_
  std::condition_variable left_;
  int inside_ = 0;
  bool closed_ = false;
};

}  // namespace znni::rpc
