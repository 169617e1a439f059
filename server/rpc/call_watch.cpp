#include "server/rpc/call_watch.hpp"

#include <chrono>
#include <utility>

namespace znni::rpc {
namespace {

constexpr std::chrono::milliseconds period{10};

}  // namespace

struct WatchedCall::State {
  CallWatch::Probe probe;
  std::stop_source stop;
  std::mutex mutex;  // guards reason
  std::optional<Error> reason;
};

WatchedCall::WatchedCall(CallWatch& watch, std::shared_ptr<State> state) : watch_(&watch), state_(std::move(state)) {}

WatchedCall::~WatchedCall() {
  if (state_) watch_->forget(state_);
}

std::stop_token WatchedCall::token() const { return state_->stop.get_token(); }

Error WatchedCall::reason(const Error& error) const {
  const std::scoped_lock lock(state_->mutex);
  return state_->reason.value_or(error);
}

CallWatch::CallWatch() : thread_([this](const std::stop_token& stop) { work(stop); }) {}

CallWatch::~CallWatch() = default;

WatchedCall CallWatch::watch(Probe probe) {
  auto state = std::make_shared<WatchedCall::State>();
  state->probe = std::move(probe);
  const std::scoped_lock lock(mutex_);
  calls_.push_back(state);
  changed_.notify_one();
  return {*this, std::move(state)};
}

void CallWatch::forget(const std::shared_ptr<WatchedCall::State>& state) {
  const std::scoped_lock lock(mutex_);
  calls_.remove(state);
}

void CallWatch::work(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait(lock, stop, [this] { return !calls_.empty(); })) return;
    probe_all();
    changed_.wait_for(lock, stop, period, [] { return false; });
  }
}

void CallWatch::probe_all() {
  for (const auto& call : calls_) {
    if (call->stop.stop_requested()) continue;
    std::optional<Error> reason = call->probe();
    if (!reason) continue;
    {
      const std::scoped_lock lock(call->mutex);
      call->reason = std::move(reason);
    }
    call->stop.request_stop();
  }
}

}  // namespace znni::rpc
