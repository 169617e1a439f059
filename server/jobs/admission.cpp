#include "server/jobs/admission.hpp"

#include "primitives/core/clock_time.hpp"

namespace znni {

Admission::Entrance::~Entrance() {
  if (admission_ != nullptr) admission_->leave();
}

Result<Admission::Entrance> Admission::enter() {
  const std::lock_guard lock(mutex_);
  if (!open_) return Error{ErrorCode::unavailable, "the server is shutting down"};
  ++inside_;
  return Entrance(*this);
}

bool Admission::open() const {
  const std::lock_guard lock(mutex_);
  return open_;
}

Error Admission::reason(const Error& error, const std::stop_token& caller) const {
  if (error.code != ErrorCode::cancelled || caller.stop_requested() || !stop_.stop_requested()) return error;
  return {ErrorCode::unavailable, "the server is shutting down, which stopped it; try another one"};
}

void Admission::drain(double timeout_seconds) {
  std::unique_lock lock(mutex_);
  open_ = false;
  const auto empty = [this] { return inside_ == 0; };
  if (left_.wait_for(lock, clock_time(timeout_seconds), empty)) return;
  lock.unlock();  // callbacks of the stop may want to leave
  stop_.request_stop();
  lock.lock();
  left_.wait(lock, empty);
}

void Admission::leave() {
  const std::lock_guard lock(mutex_);
  --inside_;
  left_.notify_all();
}

}  // namespace znni
