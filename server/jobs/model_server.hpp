// Serves all loaded models through one thread-safe interface, for the two front doors (ModelInfer and Volumes).
// Owns the memory budget of the process: models at load, transport and output per request.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "planner/network/network.hpp"
#include "primitives/core/precision.hpp"
#include "server/pipeline/engine.hpp"
#include "server/pipeline/job/window_blend.hpp"

namespace znni {

struct ServerLimits {
  std::int64_t memory = 0;                        // --mem: bytes for the whole process
  std::optional<std::int64_t> max_request_bytes;  // --max-request-bytes: of one message; nothing: by the memory
  std::int64_t max_queue = 0;                     // --max-queue: jobs waiting, per model
};

enum class ModelState { unloaded, loading, ready, unavailable };

// A value: facts about one model version, for metadata, metrics and logs.
struct ModelInfo {
  std::string name;
  std::string version;
  ModelState state = ModelState::loading;
  std::string reason;    // why unavailable or unloaded; how far it is, while it loads
  bool expected = true;  // the server is not ready without it: not so what is loaded and unloaded by hand
  int spatial_rank = 3;
  std::vector<NamedTensor> inputs;   // at least one, whose channels are `f_in` in all
  std::vector<NamedTensor> outputs;  // at least one, whose channels are `f_out` in all
  std::int64_t f_in = 0;
  std::int64_t f_out = 0;
  Vec3 field_of_view;  // voxels by which the output is smaller than the volume, plus 1
  Border frame;        // zeros around the volume that the network pads with in all
  Vec3 padded;         // 1 along the axes along which a node pads, perhaps behind a crop, without a frame
  // Equal voxels of the output for one that the network computes; 1 where `outputs` differ in it.
  Vec3 output_stride = Vec3::cube(1);
  Vec3 period = Vec3::cube(1);  // extents of volumes are min_input plus multiples of it
  Vec3 min_input;               // smallest extent of a volume
  Vec3 window;                  // over which the network normalises, if it does so over all voxels; else zeros
  std::int64_t largest_channel_number = 0;  // that an output holds (planner/network/channel_numbers.hpp)
  WindowBlend blend;                        // of the windows that lie over volumes of another extent
  bool is_dense =
      true;  // neither pads nor normalises nor has strides of its own: any box of a volume stands for itself
  // Returns whether a stream may begin again at any plane.
  [[nodiscard]] bool is_resumable() const { return padded.z == 0 && period == Vec3::cube(1) && window == Vec3{}; }
  Vec3 patch;        // input extent of the planned patch
  MemoryUse memory;  // of its plan
  // In an endless volume.
  double predicted_voxels_per_second = 0;
  Precision precision = Precision::fp32;  // the coarsest that its plan may compute a layer in
  std::string plan_summary;               // one line
  std::string gpu_lost;  // why rungs of the CPU compute what was planned for a GPU; "" when none failed
  std::shared_ptr<const std::vector<std::string>>
      layers;                // names of the network's nodes; nullptr before one was loaded
  std::string fingerprint;   // of network, weights and configuration, "" before it was planned: equal on all machines
  std::string identity;      // of these and the plan: equal ones give equal voxels
  bool whole_input = false;  // it wants all of a volume before it begins
  // Number of this loading among all that the server made since its start, from 1: a model loaded again has another.
  std::int64_t number = 0;
};

// Counters of one model since start; consistent with each other. A request is jobs that came together.
struct ModelStatistics {
  std::int64_t succeeded = 0;  // requests, as the next two
  std::int64_t failed = 0;
  std::int64_t cancelled = 0;
  std::int64_t inferences = 0;  // volumes of requests that succeeded
  std::int64_t executions = 0;  // of those volumes, that were no guests
  std::int64_t queued_now = 0;
  std::int64_t running_now = 0;
  std::int64_t queued_bytes = 0;  // JobAccount::held_bytes of those, as the next
  std::int64_t running_bytes = 0;
  std::int64_t running_voxels = 0;  // of the output that requests are for which have started and not ended
  std::int64_t running_voxels_done = 0;
  std::int64_t success_ns = 0;  // receive to answer
  std::int64_t fail_ns = 0;
  std::int64_t queue_ns = 0;
  std::int64_t compute_ns = 0;
  std::int64_t voxels = 0;  // dense output voxels computed
  // Time that CPU and GPU waited for each other, in jobs that succeeded on both.
  Seconds cpu_idle = 0;
  Seconds gpu_idle = 0;
  StageSeconds stages;         // of all jobs, as they run
  std::int64_t guests = 0;     // succeeded in the entries that another job's batch left free
  std::int64_t replaced = 0;   // voxels of inputs that were no finite numbers
  std::int64_t fell_back = 0;  // succeeded without the GPU that their plan names
  std::int64_t last_unix_ms = 0;
};

// The memory of requests, models and a GPU, in bytes.
struct MemoryFacts {
  std::int64_t transport_limit = 0;
  std::int64_t transport_used = 0;
  std::int64_t transport_peak = 0;  // since the start
  std::int64_t models_limit = 0;
  std::int64_t models_used = 0;
  // Limits of plans in a GPU's own memory and in pinned memory, and what they have reserved; 0 without a GPU.
  // models_used includes pinned memory.
  std::int64_t device_limit = 0;
  std::int64_t device_used = 0;
  std::int64_t pinned_limit = 0;
  std::int64_t pinned_used = 0;
};

// A GPU that this process can use no more, whatever is tried: only another one may (ErrorCode::device_lost).
struct GpuLoss {
  std::string reason;
  bool while_loading = false;  // a model: another process, which loads the same, would come to the same
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
  // Returns a model; "" is its newest version. Fails with not_found, "Request for unknown model: 'x' ...", for an
  // unloaded model, too. Fails with unavailable while it is loading and if that failed.
  [[nodiscard]] virtual Result<ModelInfo> find(const std::string& name, const std::string& version) const = 0;
  [[nodiscard]] virtual ModelStatistics statistics(const std::string& name, const std::string& version) const = 0;
  [[nodiscard]] virtual bool ready() const = 0;  // every model that is expected to would admit a request
  [[nodiscard]] virtual MemoryFacts memory() const = 0;
  // Returns how long the job that computes has shown no progress. Time spent waiting for a client does not count. 0 if
  // no job computes.
  [[nodiscard]] virtual Seconds still() const = 0;
  // Returns the loss of the GPU; nothing if there is no GPU, or it may work again.
  [[nodiscard]] virtual std::optional<GpuLoss> gpu_loss() const = 0;

  // Checks shape and type, without work. The errors name model, found and expected. A job with this rung and output
  // type takes what the estimate says. `alike`: how many such jobs will run_all() be given; 0 for one that cannot share
  // a batch with others, because its volume will not lie in memory as a whole.
  [[nodiscard]] virtual Result<JobEstimate> estimate(const std::string& name, const std::string& version,
                                                     const VolumeShape& input, ElementType output = ElementType::f32,
                                                     std::int64_t alike = 1) const = 0;
  // Returns the parts in which a volume that estimate() takes is computed soonest, one after the other. Counts no other
  // job, because those that run now will end before the last part. Fails with over_budget, with numbers, if not even
  // then there is memory for a job on any part; fails with `cancelled` if `stop` came first.
  [[nodiscard]] virtual Result<VolumeCut> cut(const std::string& name, const std::string& version,
                                              const VolumeShape& input, ElementType output,
                                              const std::stop_token& stop) const = 0;
  // Takes `bytes` of transport memory out of the budget at once, or fails with over_budget and both numbers.
  [[nodiscard]] virtual Result<TransportLease> lease(std::int64_t bytes) = 0;

  // Waits for its turn (unavailable when the queue is full or the server drains), then computes; between its patches,
  // jobs that wait and are no less urgent run one of theirs each. The job's normalisation is replaced by the model's
  // own, or by none where the job is `normalised`. Fails with unavailable, too, if another model was loaded in place of
  // the job's own. Estimate, slabs and output were made for that one.
  [[nodiscard]] Result<JobStatistics> run(const std::string& name, const std::string& version, VolumeJob job,
                                          std::stop_token stop) {
    std::vector<VolumeJob> jobs;
    jobs.push_back(std::move(job));
    return run_all(name, version, std::move(jobs), 1, std::move(stop));
  }
  // Runs jobs that come together, one after the other in their order. Those that fit run as guests of an earlier one or
  // of another client's job. Of these, no more than `together` (at least one) have slabs at a time. Once the first has
  // its turn, none is refused for a full queue or a drain. The first error ends it. Returns the statistics of all:
  // their times and patches added up, except the time of guests of an earlier one.
  [[nodiscard]] virtual Result<JobStatistics> run_all(const std::string& name, const std::string& version,
                                                      std::vector<VolumeJob> jobs, std::size_t together,
                                                      std::stop_token stop) = 0;

  // Loads a model of the repository as it is on disk now, in place of the one that served until then. That one is
  // unloaded first, for its memory. Blocks until it serves. Fails with not_found if the repository has no such model;
  // fails with over_budget, with numbers, if no plan fits beside the other models; else what is wrong with its files. A
  // model that was expected to serve is expected still where it cannot be loaded: the server is not ready without it.
  [[nodiscard]] virtual Result<void> load(const std::string& name, std::stop_token stop) = 0;
  // Unloads a model. Refuses new jobs at once, and returns when those inside have ended and the model's memory is free.
  [[nodiscard]] virtual Result<void> unload(const std::string& name, std::stop_token stop) = 0;

  // Looks at the repository, and follows the changes on which this call and the one before agree: loads what is new or
  // has changed, unloads what is gone, with a line in the log for each. A model whose new files cannot be read or
  // planned serves on as it was. Follows nothing if the repository cannot be read, or has no model left. Only one
  // caller at a time may do so.
  virtual void poll(std::stop_token stop) = 0;

  // Makes the server not ready and loads nothing any more; takes jobs as before. To be followed by drain().
  virtual void retire() = 0;
  // Refuses new jobs; returns when running and queued ones have ended. After `timeout` seconds they are stopped, and
  // end `unavailable`.
  virtual void drain(double timeout_seconds) = 0;
};

}  // namespace znni
