#include "server/pipeline/split/gpu_health.hpp"

namespace znni {

void GpuHealth::did_not_open(const std::string& why) {
  const std::lock_guard lock(mutex_);
  lost_ = why;
}

void GpuHealth::failed(const Error& reason) {
  const std::lock_guard lock(mutex_);
  for_good_ = for_good_ || reason.code == ErrorCode::device_lost;
  if (!lost_ || reason.code == ErrorCode::device_lost) lost_ = reason.message;
  retry_.failed(GpuRetry::Clock::now());
}

void GpuHealth::works() {
  const std::lock_guard lock(mutex_);
  retry_.passed();
  lost_.reset();
}

void GpuHealth::retry_after(Seconds wait) {
  const std::lock_guard lock(mutex_);
  retry_ = GpuRetry(wait);
}

std::optional<std::string> GpuHealth::why_lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

bool GpuHealth::is_lost_for_good() const {
  const std::lock_guard lock(mutex_);
  return for_good_;
}

bool GpuHealth::is_retry_due() const {
  const std::lock_guard lock(mutex_);
  return lost_ && !for_good_ && retry_.is_due(GpuRetry::Clock::now());
}

}  // namespace znni
