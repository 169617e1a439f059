#include "server/rpc/calls/call_watch.hpp"

#include <algorithm>
#include <utility>

namespace znni::rpc {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

std::chrono::milliseconds pause_between_probes(std::chrono::milliseconds age) {
  constexpr std::chrono::milliseconds least{10};
  constexpr std::chrono::milliseconds most{50};
  return std::clamp(age / 20, least, most);
}

struct WatchedCall::State {
  CallWatch::Probe probe;
  const Clock::time_point begun = Clock::now();
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
  ++watched_;
  changed_.notify_one();
  return {*this, std::move(state)};
}

bool CallWatch::rests() const {
  const std::scoped_lock lock(mutex_);
  return rests_;
}

void CallWatch::forget(const std::shared_ptr<WatchedCall::State>& state) {
  const std::scoped_lock lock(mutex_);
  calls_.remove(state);
}

void CallWatch::work(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::unique_lock lock(mutex_);
    rests_ = calls_.empty();
    if (!changed_.wait(lock, stop, [this] { return !calls_.empty(); })) return;
    rests_ = false;
    probe_all();
    pause(lock, stop);
  }
}

// Pauses; a call that comes meanwhile shortens the pause.
void CallWatch::pause(std::unique_lock<std::mutex>& lock, const std::stop_token& stop) {
  const Clock::time_point begun = Clock::now();
  for (bool has_come = true; has_come && !stop.stop_requested();) {
    const std::size_t seen = watched_;
    has_come = changed_.wait_until(lock, stop, begun + length_of_pause(), [&] { return watched_ != seen; });
  }
}

// Returns the length of the pause, by the youngest call, which is the last of the list.
std::chrono::milliseconds CallWatch::length_of_pause() const {
  const Clock::duration age = calls_.empty() ? Clock::duration::zero() : Clock::now() - calls_.back()->begun;
  return pause_between_probes(std::chrono::duration_cast<std::chrono::milliseconds>(age));
}

// Asks a call's probe. A probe may wake the call, which then asks for the reason, so it is told only once the reason is
// set.
bool CallWatch::ask(WatchedCall::State& call) {
  const std::scoped_lock lock(call.mutex);
  call.reason = call.probe();
  return call.reason.has_value();
}

void CallWatch::probe_all() {
  for (const auto& call : calls_) {
    if (call->stop.stop_requested()) continue;
    if (ask(*call)) call->stop.request_stop();
  }
}

}  // namespace znni::rpc
