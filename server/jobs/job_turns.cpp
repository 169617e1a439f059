#include "server/jobs/job_turns.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace znni {
namespace {

constexpr int usual_rank = 2;
constexpr std::chrono::milliseconds look_again{1};

// Waits until `has_room` returns true or `stop` comes.
void wait_for_room(const std::stop_token& stop, const std::function<bool()>& has_room) {
  std::mutex mutex;  // guards nothing but the wait
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  while (!stop.stop_requested() && !has_room()) never.wait_for(lock, stop, look_again, [] { return false; });
}

}  // namespace

int rank_of_priority(int priority) { return priority <= 0 ? usual_rank : priority; }

Result<void> JobTurns::take(const std::stop_token& stop, const std::function<void()>& in_line) {
  return take_device(model_.wait(stop, rank_, in_line), stop);
}

Result<void> JobTurns::take_again(const std::stop_token& stop, const std::function<void()>& in_line) {
  return take_device(model_.come_back(stop, rank_, in_line), stop);
}

Result<void> JobTurns::take_device(Result<Turn> model, const std::stop_token& stop) {
  if (!model) return model.error();
  Result<Turn> device = device_.wait(stop, rank_);
  if (!device) return device.error();
  model_turn_ = std::move(*model);
  device_turn_ = std::move(*device);
  return {};
}

bool JobTurns::wanted(const std::function<bool()>& has_room, bool keeps) const {
  return (has_room && !has_room()) || (!keeps && model_.wanted(rank_)) || device_.wanted(rank_);
}

Result<void> JobTurns::give_way(const std::stop_token& stop, const std::function<bool()>& has_room) {
  if (has_room && !has_room()) return step_aside(stop, has_room);
  if (!model_.wanted(rank_)) return device_.pass(device_turn_, stop, rank_);  // stands in line again at once
  { const Turn given_back = std::move(device_turn_); }
  if (Result<void> passed = model_.pass(model_turn_, stop, rank_); !passed) return passed;
  Result<Turn> device = device_.come_back(stop, rank_);
  if (!device) return device.error();
  device_turn_ = std::move(*device);
  return {};
}

Result<void> JobTurns::lend_device(const std::stop_token& stop, const std::function<bool()>& has_room) {
  if (!has_room || has_room()) return device_.pass(device_turn_, stop, rank_);
  { const Turn given_back = std::move(device_turn_); }
  wait_for_room(stop, has_room);
  Result<Turn> device = device_.come_back(stop, rank_);
  if (!device) return device.error();
  device_turn_ = std::move(*device);
  return {};
}

Result<void> JobTurns::step_aside(const std::stop_token& stop, const std::function<bool()>& has_room) {
  { const Turn given_back = std::move(device_turn_); }
  { const Turn given_back = std::move(model_turn_); }
  wait_for_room(stop, has_room);
  Result<Turn> model = model_.come_back(stop, rank_);
  if (!model) return model.error();
  model_turn_ = std::move(*model);
  Result<Turn> device = device_.come_back(stop, rank_);
  if (!device) return device.error();
  device_turn_ = std::move(*device);
  return {};
}

}  // namespace znni
