// All loaded models behind one thread-safe face: what the two front doors (ModelInfer and Volumes) talk to.
// Owns the memory budget of the process: models at load, transport and output per request.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "planner/network.hpp"
#include "server/pipeline/engine.hpp"

namespace znni {

struct ServerLimits {
  std::int64_t memory = 0;                        // --mem: bytes for the whole process
  std::optional<std::int64_t> max_request_bytes;  // --max-request-bytes: of one message; nothing: by the memory
  std::int64_t max_queue = 0;                     // --max-queue: jobs waiting, per model
};

enum class ModelState { loading, ready, unavailable };

// A value: facts about one model version, for metadata, metrics and logs.
struct ModelInfo {
  std::string name;
  std::string version;
  ModelState state = ModelState::loading;
  std::string reason;  // why unavailable
  int spatial_rank = 3;
  std::string input_name;
  std::string output_name;
  std::int64_t f_in = 0;
  std::int64_t f_out = 0;
  Vec3 field_of_view;
  Vec3 patch;        // input extent of the planned patch
  MemoryUse memory;  // of its plan
  double predicted_voxels_per_second = 0;
  std::string plan_summary;  // one line
};

// Counters of one model since start; consistent with each other.
struct ModelStatistics {
  std::int64_t succeeded = 0;
  std::int64_t failed = 0;
  std::int64_t cancelled = 0;
  std::int64_t queued_now = 0;
  std::int64_t running_now = 0;
  std::int64_t success_ns = 0;  // receive to answer
  std::int64_t fail_ns = 0;
  std::int64_t queue_ns = 0;
  std::int64_t compute_ns = 0;
  std::int64_t voxels = 0;  // dense output voxels computed
  std::int64_t last_unix_ms = 0;
};

// Memory of one request (received input, output): given back when destroyed.
class TransportLease {
 public:
  TransportLease() = default;
  TransportLease(std::shared_ptr<struct TransportBudget> budget, std::int64_t bytes);
  TransportLease(TransportLease&& other) noexcept;
  TransportLease& operator=(TransportLease&& other) noexcept;
  ~TransportLease();

 private:
  std::shared_ptr<struct TransportBudget> budget_;
  std::int64_t bytes_ = 0;
};

class ModelServer {
 public:
  virtual ~ModelServer() = default;

  [[nodiscard]] virtual std::vector<ModelInfo> models() const = 0;
  // not_found "Request for unknown model: 'x' ..." / unavailable while loading. "" = newest version.
  [[nodiscard]] virtual Result<ModelInfo> find(const std::string& name, const std::string& version) const = 0;
  [[nodiscard]] virtual ModelStatistics statistics(const std::string& name, const std::string& version) const = 0;
  [[nodiscard]] virtual bool ready() const = 0;  // every configured model would admit a request

  // Checks shape and type, without work. The errors name model, found and expected.
  [[nodiscard]] virtual Result<JobOutlook> outlook(const std::string& name, const std::string& version,
                                                   const VolumeShape& input) const = 0;
  // `bytes` of transport memory out of the budget, at once or over_budget with both numbers.
  [[nodiscard]] virtual Result<TransportLease> lease(std::int64_t bytes) = 0;

  // Waits for its turn (unavailable when the queue is full or the server drains), then computes. The job's
  // normalisation is replaced by the model's own, or by none where the job is `normalised`.
  [[nodiscard]] virtual Result<JobStatistics> run(const std::string& name, const std::string& version, VolumeJob job,
                                                  std::stop_token stop) = 0;

  // Refuses new jobs; returns when running and queued ones have ended or `timeout` seconds have passed, after
  // which they are cancelled.
  virtual void drain(double timeout_seconds) = 0;
};

}  // namespace znni
