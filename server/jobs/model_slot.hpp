// One configured model of the server, from loading to serving: its state, its queue and its counters.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include "server/jobs/guest_list.hpp"
#include "server/jobs/model_server.hpp"
#include "server/jobs/turn_queue.hpp"
#include "server/models/model_loader.hpp"

namespace znni {

// Thread safe.
class ModelSlot {
 public:
  // At most `most_waiting` jobs wait while one runs, and as many in the lane.
  ModelSlot(ModelEntry entry, std::int64_t most_waiting);

  [[nodiscard]] const ModelEntry& entry() const { return entry_; }
  [[nodiscard]] ModelInfo info() const;
  [[nodiscard]] ModelStatistics statistics() const;
  // The model when it is ready; not_found when it is unloaded, else `unavailable` with the reason. Shared by everybody
  // who runs it: it goes when the slot has given it up and the last of them is done.
  [[nodiscard]] Result<std::shared_ptr<LoadedModel>> model() const;
  [[nodiscard]] TurnQueue& queue() { return queue_; }
  // Of jobs that may run between the steps of a streamed one: they need not wait until that is done.
  [[nodiscard]] TurnQueue& lane() { return lane_; }
  // Those of either queue that would run with another job just as well.
  [[nodiscard]] GuestList& guests() { return guests_; }

  // By whoever loads and unloads. The server's readiness counts on the model only where `expected` says so.
  void set_ready(std::unique_ptr<LoadedModel> model);
  void set_unavailable(std::string reason);
  void set_unloaded();
  void set_expected(bool expected);
  // Gives the model up, if it has one: no job begins with it any more. It is unloaded then, or `loading` anew.
  [[nodiscard]] std::shared_ptr<LoadedModel> take_model(ModelState state);
  // What was taken serves again.
  void put_back(std::shared_ptr<LoadedModel> model);

 private:
  friend class JobRecord;
  const ModelEntry entry_;
  TurnQueue queue_;
  TurnQueue lane_;
  GuestList guests_;
  mutable std::mutex mutex_;  // guards all below
  ModelInfo info_;
  ModelStatistics statistics_;
  std::shared_ptr<LoadedModel> model_;  // shared with the jobs that run it
};

// Counts one job in its slot, from its arrival on. A job that was never ended() counts as failed.
class JobRecord {
 public:
  explicit JobRecord(ModelSlot& slot);
  ~JobRecord();
  JobRecord(const JobRecord&) = delete;
  JobRecord& operator=(const JobRecord&) = delete;

  // It waits for its turn, at first or once more.
  void in_line();
  void started();
  // While it ran, others had its turn for so long: counts as waiting.
  void stood_aside(std::chrono::nanoseconds time) { aside_ += time; }
  // Before its first patch.
  [[nodiscard]] Seconds queued() const { return std::chrono::duration<Seconds>(started_ - received_).count(); }
  [[nodiscard]] Seconds yielded() const { return std::chrono::duration<Seconds>(aside_).count(); }
  // How it ran; before it has ended().
  void ran(const JobStatistics& job);
  // `voxels`: dense output voxels, counted when `error` is nullptr. Returns once.
  void ended(const Error* error, std::int64_t voxels);

 private:
  using Clock = std::chrono::steady_clock;
  ModelSlot& slot_;
  const Clock::time_point received_ = Clock::now();
  Clock::time_point started_;
  std::chrono::nanoseconds aside_{0};
  enum class State { arrived, in_line, running, ended };
  void enter(State state);  // counts it there; the slot's mutex is held
  State state_ = State::arrived;
};

}  // namespace znni
