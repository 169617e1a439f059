#include "server/metrics/body_discard.hpp"

#include <chrono>

namespace znni {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds discard_time{5};

}  // namespace

bool BodyDiscard::discard(const HttpRequest& request) {
  if (!free_.try_acquire()) return false;
  const Clock::time_point end = Clock::now() + discard_time;
  const bool all = request.read([end](const char* /*data*/, std::size_t /*bytes*/) { return Clock::now() < end; });
  free_.release();
  return all;
}

}  // namespace znni
