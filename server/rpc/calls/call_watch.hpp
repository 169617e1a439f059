// Ends the work of callers who gave up. gRPC's synchronous calls can only be asked whether they were cancelled. So one
// thread asks for all calls in flight, again and again, and turns a yes into a stop request. The queue sees it at once
// and the engine between layers. Asking interrupts the threads that compute, so calls that have lasted for long are
// asked less often.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "primitives/core/result.hpp"

namespace znni::rpc {

class CallWatch;

// One call under watch, until destroyed. Must not outlive its watch.
class WatchedCall {
 public:
  WatchedCall(WatchedCall&& other) noexcept = default;
  WatchedCall& operator=(WatchedCall&&) = delete;
  ~WatchedCall();

  [[nodiscard]] std::stop_token token() const;
  // Returns what the probe answered; `error` itself while it has not. The error of a stopped job says little
  // ("cancelled"); why it was stopped says more.
  [[nodiscard]] Error reason(const Error& error) const;

 private:
  friend class CallWatch;
  struct State;
  WatchedCall(CallWatch& watch, std::shared_ptr<State> state);
  CallWatch* watch_;
  std::shared_ptr<State> state_;  // shared with the watch, which may be asking while the call ends
};

// Returns the pause until the next question if the youngest call has this age: a twentieth of it, from 10 to 50 ms.
[[nodiscard]] std::chrono::milliseconds pause_between_probes(std::chrono::milliseconds age);

class CallWatch {
 public:
  // Returns why the call shall end, or nothing. Runs in the watch's thread, never after the WatchedCall is gone.
  using Probe = std::function<std::optional<Error>()>;

  CallWatch();
  ~CallWatch();
  CallWatch(const CallWatch&) = delete;
  CallWatch& operator=(const CallWatch&) = delete;

  [[nodiscard]] WatchedCall watch(Probe probe);
  // Returns true if its thread sleeps until a call comes, because there is none.
  [[nodiscard]] bool rests() const;

 private:
  friend class WatchedCall;
  void work(const std::stop_token& stop);
  [[nodiscard]] static bool ask(WatchedCall::State& call);  // whether it shall end
  void probe_all();
  void pause(std::unique_lock<std::mutex>& lock, const std::stop_token& stop);
  [[nodiscard]] std::chrono::milliseconds length_of_pause() const;  // mutex_ is held
  void forget(const std::shared_ptr<WatchedCall::State>& state);

  mutable std::mutex mutex_;  // guards calls_, watched_, rests_ and every probe
  std::condition_variable_any changed_;
  std::list<std::shared_ptr<WatchedCall::State>> calls_;
  std::size_t watched_ = 0;  // calls ever
  bool rests_ = false;
  std::jthread thread_;
};

}  // namespace znni::rpc
