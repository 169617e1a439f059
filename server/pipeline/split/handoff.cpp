#include "server/pipeline/split/handoff.hpp"

#include <chrono>

#include "primitives/core/clock_time.hpp"
#include "server/pipeline/job/job_cancelled.hpp"

namespace znni {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

Result<void> Handoff::wait_for_room(const std::stop_token& stop) {
  const Clock::time_point start = Clock::now();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, stop, [this] { return !item_ || refusal_; });
  idle_.producer += seconds_since(start);
  if (refusal_) return *refusal_;
  if (stop.stop_requested()) return job_cancelled();
  return {};
}

void Handoff::deliver(std::int64_t item) {
  {
    const std::lock_guard lock(mutex_);
    ensure(!item_ && !ended_, "an item is delivered where there is room");
    item_ = item;
    when_idle_.reset();
  }
  changed_.notify_all();
}

void Handoff::stop_when_idle(std::stop_source source) {
  const std::lock_guard lock(mutex_);
  if (consumer_waits_) source.request_stop();
  when_idle_ = std::move(source);
}

void Handoff::end(Result<void> reason) {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    end_reason_ = std::move(reason);
  }
  changed_.notify_all();
}

Result<std::optional<std::int64_t>> Handoff::take(const std::stop_token& stop) {
  const Clock::time_point start = Clock::now();
  std::optional<std::int64_t> taken;
  {
    std::unique_lock lock(mutex_);
    consumer_waits_ = !item_ && !ended_;
    if (consumer_waits_ && when_idle_) when_idle_->request_stop();
    changed_.wait(lock, stop, [this] { return item_ || ended_; });
    consumer_waits_ = false;
    idle_.consumer += seconds_since(start);
    if (stop.stop_requested()) return job_cancelled();
    if (!item_ && !end_reason_) return end_reason_.error();
    taken = std::exchange(item_, std::nullopt);
  }
  changed_.notify_all();
  return taken;
}

void Handoff::refuse(const Error& reason) {
  {
    const std::lock_guard lock(mutex_);
    refusal_ = reason;
  }
  changed_.notify_all();
}

}  // namespace znni
