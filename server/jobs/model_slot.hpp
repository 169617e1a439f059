// One configured model of the server, from loading to serving: its state, its queue and its counters.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include "server/jobs/model_server.hpp"
#include "server/jobs/turn_queue.hpp"
#include "server/models/model_loader.hpp"

namespace znni {

// Thread safe.
class ModelSlot {
 public:
  // At most `most_waiting` jobs wait while one runs.
  ModelSlot(ModelEntry entry, std::int64_t most_waiting);

  [[nodiscard]] const ModelEntry& entry() const { return entry_; }
  [[nodiscard]] ModelInfo info() const;
  [[nodiscard]] ModelStatistics statistics() const;
  // The model when it is ready, else `unavailable` with the reason. It stays until the slot goes.
  [[nodiscard]] Result<LoadedModel*> model() const;
  [[nodiscard]] TurnQueue& queue() { return queue_; }

  // Called once, by whoever loads.
  void set_ready(std::unique_ptr<LoadedModel> model);
  void set_unavailable(std::string reason);

 private:
  friend class JobRecord;
  const ModelEntry entry_;
  TurnQueue queue_;
  mutable std::mutex mutex_;  // guards all below
  ModelInfo info_;
  ModelStatistics statistics_;
  std::unique_ptr<LoadedModel> model_;
};

// Counts one job in its slot, from its arrival on. A job that was never ended() counts as failed.
class JobRecord {
 public:
  explicit JobRecord(ModelSlot& slot);
  ~JobRecord();
  JobRecord(const JobRecord&) = delete;
  JobRecord& operator=(const JobRecord&) = delete;

  void started();
  // `voxels`: dense output voxels, counted when `error` is nullptr. Returns once.
  void ended(const Error* error, std::int64_t voxels);

 private:
  using Clock = std::chrono::steady_clock;
  ModelSlot& slot_;
  const Clock::time_point received_ = Clock::now();
  Clock::time_point started_;
  bool running_ = false;
  bool ended_ = false;
};

}  // namespace znni
