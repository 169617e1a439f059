#include "server/jobs/progress_watch.hpp"

#include <chrono>

namespace znni {
namespace {

std::int64_t now_ns() { return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

void ProgressWatch::beat() { last_ns_ = now_ns(); }

Seconds ProgressWatch::still() const {
  const std::int64_t last = last_ns_;
  return last == 0 ? 0 : static_cast<Seconds>(now_ns() - last) * 1e-9;
}

}  // namespace znni
