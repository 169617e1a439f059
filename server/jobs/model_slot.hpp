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
  // Lets at most `max_waiting` jobs wait while one runs, and as many between the steps of a stream.
  ModelSlot(ModelEntry entry, std::int64_t max_waiting);

  [[nodiscard]] const ModelEntry& entry() const { return entry_; }
  [[nodiscard]] ModelInfo info() const;
  [[nodiscard]] ModelStatistics statistics() const;
  // Returns the model if it is ready. Fails with not_found if it is unloaded, else with `unavailable` and the reason.
  // All jobs that run the model share it: it is freed when the slot has given it up and the last of them is done.
  [[nodiscard]] Result<std::shared_ptr<LoadedModel>> model() const;
  [[nodiscard]] TurnQueue& queue() { return queue_; }
  // Returns the queue of jobs that may run between the steps of a streamed job: they need not wait until it is done.
  [[nodiscard]] TurnQueue& between_steps() { return between_steps_; }
  // Returns the jobs of either queue that could also run as guests of another job.
  [[nodiscard]] GuestList& guests() { return guests_; }

  // Returns how far its loading is, which info() and model() tell while it loads.
  [[nodiscard]] LoadingProgress& progress() { return progress_; }

  // Set the state; the thread that loads and unloads calls them. The server is ready without this model unless it is
  // `expected`.
  void set_ready(std::unique_ptr<LoadedModel> model);
  void set_unavailable(std::string reason);
  void set_unloaded();
  void set_expected(bool expected);
  // Gives the model up, if it has one: no job begins with it any more. Its state is then `state`, unloaded or loading.
  [[nodiscard]] std::shared_ptr<LoadedModel> take_model(ModelState state);
  // Lets the model that was taken serve again.
  void put_back(std::shared_ptr<LoadedModel> model);

 private:
  friend class JobRecord;
  const ModelEntry entry_;
  TurnQueue queue_;
  TurnQueue between_steps_;
  GuestList guests_;
  LoadingProgress progress_;
  mutable std::mutex mutex_;  // guards all below
  ModelInfo info_;
  ModelStatistics statistics_;
  std::shared_ptr<LoadedModel> model_;  // shared with the jobs that run it
};

// Counts one request in its slot, from its arrival on: jobs that run one after the other. One that was never ended()
// counts as failed.
class JobRecord {
 public:
  // Counts a request that holds `held_bytes`, for `asked_voxels` dense output voxels of all its jobs together.
  explicit JobRecord(ModelSlot& slot, std::int64_t held_bytes = 0, std::int64_t asked_voxels = 0);
  ~JobRecord();
  JobRecord(const JobRecord&) = delete;
  JobRecord& operator=(const JobRecord&) = delete;

  // Notes that the job under way waits for its turn, at first or again.
  void in_line();
  void started();
  // Adds time for which others had the job's turn while it ran: it counts as waiting.
  void stood_aside(std::chrono::nanoseconds time) { aside_ += time; }
  // Returns the time that the job waited before its first patch.
  [[nodiscard]] Seconds queued() const { return std::chrono::duration<Seconds>(started_ - arrived_).count(); }
  [[nodiscard]] Seconds yielded() const { return std::chrono::duration<Seconds>(aside_).count(); }
  // Adds what a job of the request has computed. Any thread may call it, even after ended().
  void gained(const JobGain& gain);
  // Notes that the job has ended well, with so many dense output voxels; the next one is under way.
  void ran(const JobStatistics& job, std::int64_t voxels);
  // Ends the request, with success if `error` is nullptr. To be called once.
  void ended(const Error* error);

 private:
  using Clock = std::chrono::steady_clock;
  ModelSlot& slot_;
  const std::int64_t held_bytes_;
  const std::int64_t asked_voxels_;
  const Clock::time_point received_ = Clock::now();
  // Times of the job under way.
  Clock::time_point arrived_ = received_;
  Clock::time_point started_;
  std::chrono::nanoseconds aside_{0};
  // Sums of the jobs that have ended.
  std::int64_t inferences_ = 0;
  std::int64_t executions_ = 0;
  std::int64_t voxels_ = 0;
  std::int64_t queue_ns_ = 0;
  std::int64_t compute_ns_ = 0;
  enum class State { arrived, in_line, running, ended };
  void enter(State state);          // counts it there; the slot's mutex is held
  void count(std::int64_t change);  // where it is now; likewise
  void show(bool shown);            // its voxels among those of running ones, or no more; likewise
  State state_ = State::arrived;
  // The slot's mutex guards both.
  std::int64_t done_voxels_ = 0;
  bool is_shown_ = false;  // from its first start to its end
};

}  // namespace znni
