// A ModelServer that computes something simple and can be told to wait or to fail: the front doors are
// tested against it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "server/jobs/model_server.hpp"
#include "server/jobs/transport_budget.hpp"
#include "tests/server/rpc/hook.hpp"

namespace znni::rpc {

// Model "twice", versions 1 and 2: field of view 3x3x3, one channel in, `f_out` channels out; output channel j at v
// is (j + 1) * input at v + 1, so that axes, order and types show. Model "flat": the same, 2D, field of view
// 1x3x3. Model "line": 1D, 1x1x3. Model "broken": unavailable.
class FakeModelServer final : public ModelServer {
 public:
  explicit FakeModelServer(std::int64_t transport_bytes = std::int64_t{64} << 20);

  [[nodiscard]] std::vector<ModelInfo> models() const override;
  [[nodiscard]] Result<ModelInfo> find(const std::string& name, const std::string& version) const override;
  [[nodiscard]] ModelStatistics statistics(const std::string& name, const std::string& version) const override;
  [[nodiscard]] bool ready() const override { return is_ready; }
  [[nodiscard]] MemoryFacts memory() const override;
  [[nodiscard]] Seconds still() const override { return still_for; }
  [[nodiscard]] std::optional<GpuLoss> gpu_loss() const override { return gpu; }
  [[nodiscard]] Result<JobEstimate> estimate(const std::string& name, const std::string& version,
                                             const VolumeShape& input, ElementType output,
                                             std::int64_t alike) const override;
  [[nodiscard]] Result<VolumeCut> cut(const std::string& name, const std::string& version, const VolumeShape& input,
                                      ElementType output, const std::stop_token& stop) const override;
  [[nodiscard]] Result<TransportLease> lease(std::int64_t bytes) override;
  [[nodiscard]] Result<JobStatistics> run_all(const std::string& name, const std::string& version,
                                              std::vector<VolumeJob> jobs, std::size_t at_a_time,
                                              std::stop_token stop) override;
  // Load and unload "twice" only, noted in `managed`.
  [[nodiscard]] Result<void> load(const std::string& name, std::stop_token stop) override;
  [[nodiscard]] Result<void> unload(const std::string& name, std::stop_token stop) override;
  void poll(std::stop_token) override {}
  void retire() override { is_ready = false; }
  // Lets go of all jobs, and takes no more.
  void drain(double timeout_seconds) override;

  // Jobs wait in the queue (before their first slab), or between their patches, until stopped or let go.
  enum class Hold { nothing, queue, patches };
  void hold(Hold where);
  // Sets the error with which run() ends from now on; nothing: it does its work.
  void fail_with(std::optional<Error> failure);
  // Blocks until `count` jobs have entered run() since the start.
  void wait_for_jobs(int count);

  [[nodiscard]] std::int64_t leased() const;
  [[nodiscard]] std::string managed() const;  // "+twice-twice": what was loaded and unloaded

  std::atomic<bool> is_ready = true;
  std::atomic<Seconds> still_for = 0;
  std::int64_t f_out = 2;
  std::int64_t f_out_of_estimate = 0;  // of a model that was loaded again since it was found; 0: `f_out`
  bool two_outputs = false;            // "first" of one channel, and "rest"; else "probability"
  bool two_inputs = false;             // "raw", and "mask" of one channel, which is added to all outputs
  std::int64_t planes_per_slab = 2;
  std::atomic<std::int64_t> batch = 1;    // of outlooks, as the next
  std::atomic<std::int64_t> entries = 0;  // of jobs that may share a batch
  std::atomic<std::int64_t> slabs = 1;    // of others, at a time
  std::atomic<std::int64_t> max_slab_planes = saturated;
  std::atomic<std::int64_t> bytes_per_slab_plane = 0;  // that must be free for each of a slab's but the first
  std::atomic<std::int64_t> list_bytes = 0;            // of the lists of patches
  Hook<const std::stop_token&> cut_begins;
  Hook<> after_refusal;        // what others do when there is no memory for a lease
  Hook<> after_estimate;       // what others do behind each
  Hook<> after_turn;           // what others do when a job was told that it is its turn
  std::string fallback;        // set: version 2 has lost its GPU, and jobs begin with a slab that they give back
  std::optional<GpuLoss> gpu;  // set before others ask
  std::atomic<std::int64_t> replaced = 0;  // voxels of each job's input
  std::atomic<bool> unloaded = false;      // "broken" is, instead
  std::atomic<bool> host_fails = false;    // jobs begin as guests of one that fails, and wait again
  std::atomic<bool> drained = false;
  std::atomic<bool> retrained = false;           // all models then have another identity and number
  std::atomic<bool> whole_input = false;         // of all models
  std::atomic<int> last_priority = -1;           // of the last job that came
  mutable std::atomic<std::int64_t> alike = -1;  // that the last estimate was asked for
  std::atomic<std::size_t> came_together = 0;    // jobs of the last run_all()
  std::atomic<std::size_t> together = 0;         // of those, at a time
  std::atomic<std::int64_t> held_bytes = 0;      // of all jobs of the last run_all()
  std::atomic<bool> had_source = false;          // the last job that came read from a source
  std::atomic<int> stopped_jobs = 0;             // ended `cancelled`

 private:
  // Waits until the job may pass. Returns false if it was stopped instead.
  [[nodiscard]] bool pass(Hold where, const std::stop_token& stop);
  [[nodiscard]] std::optional<Error> failure() const;
  Result<JobStatistics> run_one(const std::string& name, const std::string& version, const VolumeJob& job,
                                const std::stop_token& stop);
  Result<JobStatistics> run_job(const std::string& name, const std::string& version, const VolumeJob& job,
                                const std::stop_token& stop);
  [[nodiscard]] Result<void> compute(const VolumeJob& job, const Shape5& output, const std::stop_token& stop);

  std::shared_ptr<TransportBudget> budget_;  // shared with the leases
  std::string managed_;
  mutable std::mutex mutex_;  // guards managed_, hold_, jobs_, failure_
  std::condition_variable_any changed_;
  Hold hold_ = Hold::nothing;
  int jobs_ = 0;
  std::optional<Error> failure_;
};

// Returns element (j, position) of a dense volume, as float.
[[nodiscard]] float voxel(const std::byte* data, const VolumeShape& shape, std::int64_t j, Vec3 position);
// Returns what the model "twice" gives at output position `v` of channel j for an input of seeded voxels.
[[nodiscard]] float input_voxel(Vec3 position);  // small integers over 255: exact in every type
// Returns a dense input volume of that pattern.
[[nodiscard]] std::string input_bytes(const VolumeShape& shape);

}  // namespace znni::rpc
