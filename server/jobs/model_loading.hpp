// Brings models into service and takes them out again: plans within the memory that is left for models, opens, frees.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "server/jobs/model_server_impl.hpp"
#include "server/jobs/model_slot.hpp"
#include "server/jobs/shared_device.hpp"
#include "server/models/model_loader.hpp"

namespace znni {

// Only one caller at a time may load or free; bytes_left() may be asked at any time.
class ModelLoading {
 public:
  // `bytes` are for all models. Borrows everything; `retired` turns true when the server ends.
  ModelLoading(const ServerOptions& options, std::int64_t bytes, SharedDevice& shared, const std::atomic<bool>& retired)
      : options_(options), shared_(shared), retired_(retired), bytes_left_(bytes) {}

  [[nodiscard]] std::int64_t bytes_left() const { return bytes_left_; }

  // Plans the model of a slot within `share`, opens it and lets it serve. On failure the model is unavailable, and the
  // log says why, unless the end of the server broke it off.
  [[nodiscard]] Result<void> load(ModelSlot& slot, const Result<std::int64_t>& share, const std::stop_token& stop);
  // Does the first half of load(): reads the files and plans within `share`. Touches neither the device nor the state
  // of the model.
  [[nodiscard]] Result<PlannedModel> plan(ModelSlot& slot, const Result<std::int64_t>& share,
                                          const std::stop_token& stop) const;
  // Does the second half of load().
  [[nodiscard]] Result<void> serve(ModelSlot& slot, Result<PlannedModel> planned, const std::stop_token& stop);
  // Finishes the loading of a model that serves already; makes it unavailable if it turns out not to run.
  void finish(ModelSlot& slot, const std::stop_token& stop);
  // Takes the model out of service, into `state`, waits for the jobs that run it, and frees its memory. Fails with
  // `cancelled` if `stop` came first: the model serves on.
  [[nodiscard]] Result<void> free(ModelSlot& slot, ModelState state, const std::stop_token& stop);

 private:
  [[nodiscard]] Error give_up(ModelSlot& slot, const Error& error) const;
  [[nodiscard]] Result<std::unique_ptr<LoadedModel>> open(ModelSlot& slot, PlannedModel planned,
                                                          const std::stop_token& stop);
  [[nodiscard]] InTurn in_turn(const LoadedModel& model, const std::stop_token& stop);
  [[nodiscard]] InTurn if_idle(ModelSlot& slot, const LoadedModel& model, const std::stop_token& stop);

  const ServerOptions& options_;
  SharedDevice& shared_;
  const std::atomic<bool>& retired_;
  std::atomic<std::int64_t> bytes_left_;
  std::int64_t loaded_ = 0;  // models, since the start
};

}  // namespace znni
