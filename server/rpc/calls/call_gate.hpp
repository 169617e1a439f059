// Counts calls, bounds them in all and for each client, and closes for shutdown. Calls that carry volumes or weigh how
// they are best sent have a gate of their own. So small calls answer while all of these wait.
#pragma once

#include <condition_variable>
#include <limits>
#include <mutex>
#include <string>
#include <utility>

#include "primitives/core/result.hpp"
#include "server/rpc/calls/client_counts.hpp"

namespace znni::rpc {

// Returns the error of calls that are refused because the server ends: unavailable.
[[nodiscard]] Error shutting_down();

class CallGate;

// A call that was let in; leaves when destroyed. Must not outlive its gate.
class CallPass {
 public:
  CallPass(CallGate& gate, std::string client) : gate_(&gate), client_(std::move(client)) {}
  CallPass(CallPass&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)), client_(std::move(other.client_)) {}
  CallPass& operator=(CallPass&&) = delete;
  ~CallPass();

 private:
  CallGate* gate_;
  std::string client_;
};

class CallGate {
 public:
  // Allows `max_calls` calls, of which one client has `max_of_client` at most.
  explicit CallGate(int max_calls, int max_of_client = std::numeric_limits<int>::max())
      : max_calls_(max_calls), max_of_client_(max_of_client) {}

  // Lets a call of `client` in, who is named as SocketAddress::client() does. Fails with unavailable if `max_calls` are
  // inside or the gate is closed; fails with over_budget if the client has `max_of_client` inside.
  [[nodiscard]] Result<CallPass> enter(const std::string& client = {});
  // Lets no more calls in.
  void close();
  [[nodiscard]] bool closed() const;
  // Waits until no call is inside; returns false if `seconds` passed first.
  [[nodiscard]] bool wait_empty(double seconds);

 private:
  friend class CallPass;
  void leave(const std::string& client);

  const int max_calls_;
  const int max_of_client_;
  mutable std::mutex mutex_;  // guards all below
  std::condition_variable left_;
  int inside_ = 0;
  ClientCounts of_clients_;
  bool closed_ = false;
};

}  // namespace znni::rpc
