// The engine of one loaded model: a plan with its memory reserved, weights in place and layers prepared.
// Cuts any volume into patches of the plan's ladder, runs them, and hands out dense output slab by slab.
// Knows no gRPC. No tensor memory is reserved while a job runs (its output slab is the caller's); small bookkeeping is.
// Nothing is tuned then.
//
// If the network is bound to its window (planner/network/tile_bound.hpp), overlapping windows are laid over a volume of
// another extent. Each is computed by itself, and their weighted mean is the output
// (server/pipeline/job/window_blend.hpp).
//
// If a GPU fails or has too little memory, rungs on the CPU take over, provided that the plan's ladder has any. They go
// on in the middle of a job, with the first plane that was not delivered; the job's statistics say why. Some time later
// (gpu_retry.hpp), after a job, the GPU runs a pass on zeros. If it succeeds, the next jobs run on the GPU again. A GPU
// that is lost to the process (device_lost) is not retried.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "planner/costs/catalogue.hpp"
#include "planner/plan/plan.hpp"
#include "server/pipeline/job/volume_cut.hpp"
#include "server/pipeline/job/volume_job.hpp"
#include "server/pipeline/job/window_blend.hpp"
#include "server/pipeline/job_estimate.hpp"
#include "server/pipeline/schedule/call_observer.hpp"
#include "server/pipeline/schedule/place_devices.hpp"

namespace znni {

// Bytes [first, first + bytes).
struct ByteRange {
  std::int64_t first = 0;
  std::int64_t bytes = 0;
  bool operator==(const ByteRange&) const = default;
};

class Engine {
 public:
  // Reserves plan.memory from `devices` and prepares every rung. `weights` and the devices must outlive the engine.
  // Refuses plans that design_ladder() (planner/layers/ladder.hpp) refuses, before anything is reserved.
  // Fails with `unsupported` if the plan names a GPU and there is none. If a GPU failed to open, and devices.lacking
  // says why, only the plan's rungs on the CPU serve.
  [[nodiscard]] static Result<std::unique_ptr<Engine>> open(const Network& network, const NetworkWeights& weights,
                                                            const Plan& plan, const Catalogue& catalogue,
                                                            const PlaceDevices& devices);
  struct State;
  explicit Engine(std::unique_ptr<State> state);  // by open()
  ~Engine();

  // Predicts a job. Fails with invalid_argument, naming both numbers, if an extent is below the field of view or the
  // channels differ. `output`: the type of the job's slabs. `max_held`: bytes that a job may hold of its input, its
  // output and its list of patches at a time. If a rung is streamed in several columns or phases, output planes are
  // buffered until the last one is done. `max_held` bounds these planes, at least one; for the next planes all columns
  // but one begin again (planner/geometry/patch_grid.hpp). Rungs that hold more are avoided; where all do, the job
  // holds more, as held_bytes() says.
  [[nodiscard]] Result<JobEstimate> estimate(const VolumeShape& input, ElementType output = ElementType::f32,
                                             std::int64_t max_held = saturated) const;
  // Returns the bytes that a job holds at a time, of what `max_held` counts. `estimate`: by estimate(), of the same
  // input and output.
  [[nodiscard]] std::int64_t held_bytes(const JobEstimate& estimate, const VolumeShape& input,
                                        ElementType output = ElementType::f32) const;

  // Returns the parts in which a volume that estimate() takes is computed soonest. Each part has the estimate that
  // estimate() gives for the same max_held. Fails with over_budget, with numbers, if a job would hold more for every
  // part; with `cancelled` if `stop` came first.
  [[nodiscard]] Result<VolumeCut> cut(const VolumeShape& input, ElementType output = ElementType::f32,
                                      std::int64_t max_held = saturated, const std::stop_token& stop = {}) const;

  // Blocks until done. One job at a time computes; others may run between its patches, as Interval says. Stops between
  // layers with `cancelled`. An error ends the job, not the engine. Fails with invalid_argument if the job's first
  // plane is not an output plane, or its rung is not in the plan.
  [[nodiscard]] Result<JobStatistics> run(const VolumeJob& job, std::stop_token stop);

  // Makes every page of a part of the CPU rungs' memory present now, on each socket. So the first job does not wait for
  // them. Returns the seconds that took, or `cancelled` if `stop` came first. Must not run while a job computes.
  [[nodiscard]] Result<Seconds> touch_memory(const ByteRange& part, std::stop_token stop);
  // Return ranges of memory. memory() is all of it, the same on each socket; memory_of() is that of a rung, empty for
  // one with a GPU.
  [[nodiscard]] ByteRange memory() const;
  [[nodiscard]] ByteRange memory_of(std::size_t rung) const;

  // Runs one pass of rung `rung` of the ladder on zeros, to show that it works.
  [[nodiscard]] Result<void> warm_up(std::size_t rung, std::stop_token stop);
  // Returns whether a job has run on this rung, to its end. Any thread.
  [[nodiscard]] bool has_run(std::size_t rung) const;

  // Replaces the way in which windows are laid over volumes that are not of the window's extent. Must be called before
  // the first job. Without effect if the network is not bound to its window.
  void blend_windows(const WindowBlend& blend);

  // Sets the observer from the next run on; an empty one is not called. Rungs with a GPU do not call it. Must not be
  // called while a job runs.
  void observe(CallObserver observer);

  // Makes estimate() add, for rungs before this one, the time the system takes to give their pages to a first job.
  // Small jobs then prefer rungs that have their pages; for large ones the difference is small. Any thread.
  void touched_from(std::size_t rung);
  [[nodiscard]] std::size_t first_touched() const;
  // Returns whether jobs on this rung may run between the steps of a streamed job. False for a streamed rung.
  [[nodiscard]] bool beside_streams(std::size_t rung) const;
  // Returns the estimate, on the fastest of those rungs, of a job that estimate() takes. Nothing if there are none.
  [[nodiscard]] std::optional<JobEstimate> estimate_beside_streams(const VolumeShape& input,
                                                                   ElementType output = ElementType::f32) const;

  // Returns JobEstimate::entries of a job on its rung. 0 if its volume is not all in memory or it names no rung.
  [[nodiscard]] std::int64_t guest_entries(const VolumeJob& job) const;
  // Returns the estimate of a job that estimate() takes on the rung where its share of a batch takes least time;
  // predicted_seconds are of that share. Nothing if no rung can be shared: streamed rungs and those with a GPU cannot.
  [[nodiscard]] std::optional<JobEstimate> estimate_as_guest(const VolumeShape& input,
                                                             ElementType output = ElementType::f32) const;

  // Replaces GpuRetry::first_wait. Must be called before the first job.
  void retry_gpu_after(Seconds wait);
  // Returns why the plan's rungs with a GPU are not used now. Nothing while they are used, or if there are none.
  [[nodiscard]] std::optional<std::string> gpu_lost() const;
  // Returns true if the GPU will not be retried either: only another process can use it.
  [[nodiscard]] bool gpu_lost_for_good() const;

  [[nodiscard]] const Plan& plan() const;
  // Returns the voxels per axis by which the output is smaller than the volume, plus 1: the network's field of view,
  // less what it pads.
  [[nodiscard]] Vec3 field_of_view() const;
  [[nodiscard]] Vec3 patch() const;  // input extent of the planned patch
  [[nodiscard]] std::int64_t f_in() const;
  [[nodiscard]] std::int64_t f_out() const;
  // Returns bytes reserved from the device for this engine: plan().memory less the weights.
  [[nodiscard]] std::int64_t reserved_bytes() const;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace znni
