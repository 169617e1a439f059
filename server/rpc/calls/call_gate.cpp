#include "server/rpc/calls/call_gate.hpp"

#include <string>

#include "primitives/core/clock_time.hpp"

namespace znni::rpc {

Error shutting_down() { return {ErrorCode::unavailable, "the server is shutting down; try another one"}; }

CallPass::~CallPass() {
  if (gate_ != nullptr) gate_->leave(client_);
}

Result<CallPass> CallGate::enter(const std::string& client) {
  const std::scoped_lock lock(mutex_);
  if (closed_) return shutting_down();
  if (inside_ >= max_calls_) {
    return Error{ErrorCode::unavailable, std::to_string(inside_) + " requests are in flight, at most " +
                                             std::to_string(max_calls_) + " are taken; try again later"};
  }
  if (const int held = of_clients_.of(client); held >= max_of_client_) {
    return Error{ErrorCode::over_budget, std::to_string(held) + " requests of the client " + client +
                                             " are in flight, at most " + std::to_string(max_of_client_) +
                                             " of one client are taken; wait until one has ended"};
  }
  ++inside_;
  of_clients_.add(client);
  return CallPass(*this, client);
}

void CallGate::leave(const std::string& client) {
  const std::scoped_lock lock(mutex_);
  --inside_;
  of_clients_.remove(client);
  left_.notify_all();
}

void CallGate::close() {
  const std::scoped_lock lock(mutex_);
  closed_ = true;
}

bool CallGate::closed() const {
  const std::scoped_lock lock(mutex_);
  return closed_;
}

bool CallGate::wait_empty(double seconds) {
  std::unique_lock lock(mutex_);
  return left_.wait_for(lock, clock_time(seconds), [this] { return inside_ == 0; });
}

}  // namespace znni::rpc
