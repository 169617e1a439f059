#include "server/rpc/call_gate.hpp"

#include <string>

#include "primitives/core/clock_time.hpp"

namespace znni::rpc {

Error shutting_down() { return {ErrorCode::unavailable, "the server is shutting down; try another one"}; }

CallPass::~CallPass() {
  if (gate_ != nullptr) gate_->leave();
}

Result<CallPass> CallGate::enter() {
  const std::scoped_lock lock(mutex_);
  if (closed_) return shutting_down();
  if (inside_ >= most_calls_) {
    return Error{ErrorCode::unavailable, std::to_string(inside_) + " requests are in flight, at most " +
                                             std::to_string(most_calls_) + " are taken; try again later"};
  }
  ++inside_;
  return CallPass(*this);
}

void CallGate::leave() {
  const std::scoped_lock lock(mutex_);
  --inside_;
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
