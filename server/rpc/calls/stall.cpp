#include "server/rpc/calls/stall.hpp"

#include <chrono>

namespace znni::rpc {
Stall::Wait::Wait(Stall& stall) : stall_(stall) { stall_.since_ns_ = stall_.now_ns(); }

Stall::Wait::~Wait() { stall_.since_ns_ = 0; }

void Stall::restart() {
  std::int64_t since = since_ns_;
  while (since != 0 && !since_ns_.compare_exchange_weak(since, now_ns())) {
  }
}

std::int64_t Stall::now_ns() const { return std::chrono::nanoseconds(now_().time_since_epoch()).count(); }

bool Stall::too_long() const {
  const std::int64_t since = since_ns_;
  return since != 0 && static_cast<double>(now_ns() - since) > max_seconds_ * 1e9;
}

}  // namespace znni::rpc
