// The engine of one loaded model: a plan with its memory reserved, weights in place and layers prepared.
// Cuts any volume into patches of the plan's ladder, runs them, and hands out dense output slab by slab.
// Knows no gRPC. No tensor memory is reserved while a job runs (its output slab is the caller's); small bookkeeping is.
// Nothing is tuned then.
//
// Where a GPU fails or has too little memory, rungs on the CPU take over if the plan's ladder has any: in the midst of
// a job, with the first plane that was not delivered, and say why. Some time later (gpu_retry.hpp), behind a job, the
// GPU runs a pass on zeros: when it succeeds, the jobs that follow run on it again. One that is lost to the process
// (device_lost) is not asked.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "planner/costs/catalogue.hpp"
#include "planner/plan/plan.hpp"
#include "server/pipeline/call_observer.hpp"
#include "server/pipeline/job_gain.hpp"
#include "server/pipeline/job_statistics.hpp"
#include "server/pipeline/place_devices.hpp"
#include "server/pipeline/volume_cut.hpp"
#include "server/volume/plane_source.hpp"

namespace znni {

struct JobProgress {
  std::int64_t patches_done = 0;
  std::int64_t patches = 0;
  std::int64_t planes_done = 0;  // output planes [0, planes_done) are complete
  double part = 0;  // of the patches under way together, in patches: by the predicted times of their layers
};

// A moment between two patches, or two steps of a stream, of a job.
struct Interval {
  // What the stream keeps stands in the engine's memory: jobs on other engines may run, and on this one those on rungs
  // that are Engine::beside_streams(). Else nothing of the job does, and any job may run.
  bool within_stream = false;
};

struct Guest;

// What a caller wants computed. The input must stay valid until run() returns.
struct VolumeJob {
  VolumeView input;
  // Where there is one it gives the planes, those before first_plane aside; of `input` only the shape is then looked
  // at, which must be the source's.
  PlaneSource* source = nullptr;
  Normalisation normalisation;
  bool normalised = false;  // voxels already are what the network expects: a ModelServer keeps the model's off
  ElementType output_type = ElementType::f32;  // of its slabs: as its outlook was asked for
  // Output planes before it are not computed: a job that was interrupted goes on where its last slab ended. The planes
  // that come before them in the input, fov - 1 for each, are read again.
  std::int64_t first_plane = 0;
  // Memory for output planes [first_plane, first_plane + planes), asked for in rising order without overlap;
  // in the job's own output type and order. The slab is full when `deliver` is called with it.
  std::function<Result<OutputSlab>(std::int64_t first_plane, std::int64_t planes)> slab;
  std::function<Result<void>(const OutputSlab&)> deliver;
  // May be empty. Called after each patch and each layer, by one thread at a time.
  std::function<void(const JobProgress&)> progress;
  // May be empty. Told what is new after each batch, before its output is delivered, and at the end, of a job that
  // fails, too: no voxel twice, whichever rung goes on. By one thread at a time.
  std::function<void(const JobGain&)> gained;
  // May be empty. Called between patches: until it returns, other jobs may run. Its error ends the job.
  std::function<Result<void>(const Interval&)> between_patches;
  // May be empty: always. Whether between_patches, called so, would let others run now: a rung with a GPU, whose two
  // sides must come to rest for that, asks first.
  std::function<bool(const Interval&)> wanted;
  // May be empty. A slab that was asked for and will not be delivered: its planes are asked for again.
  std::function<void(const OutputSlab&)> abandon;
  // Of the job's outlook: what the caller made room for. Nothing: the rung that is fastest now.
  std::optional<std::size_t> rung;
  std::int64_t most_held = saturated;  // as its outlook was asked for
  // May be empty. Asked when the last batch of the job, on that rung, leaves so many places free: jobs that may run in
  // them, with no more patches than that together.
  std::function<std::vector<Guest>(std::int64_t places)> guests;
  // The first steps of a stream run all nodes, too, as the others: for who measures a step. Rungs on a CPU.
  bool whole_steps = false;
  // For a ModelServer, not for the engine. ModelInfo::number of the model that the job is for; 0: of whichever serves.
  std::int64_t model = 0;
  int priority = 0;                // smaller ones go first; 0: as usual
  std::int64_t held_bytes = 0;     // memory of its request, held while it waits and runs: for statistics
  std::function<bool()> has_room;  // may be empty; false: slab() would wait for whoever takes the output
  // May be empty. Told false while the job waits, at first and again where another's batch failed; true when it has its
  // turn, or runs as a guest.
  std::function<void(bool)> in_turn;
};

// A small job, of as many places as Engine::guest_places() says, that another one takes with it.
struct Guest {
  const VolumeJob* job = nullptr;
  // Called once, by the other job's thread, which then touches the job no more; nullptr: it did not run.
  std::function<void(const Result<JobStatistics>*)> ended;
};

// What a job of this shape will be: known from shapes alone, before any work.
struct JobOutlook {
  Shape5 output;             // S = 1, f of the output, dense extent n - fov + 1
  std::size_t rung = 0;      // of the plan's ladder: least predicted time for this volume
  Vec3 patch;                // input extent behind one slab of the output: of a patch, a step, or a band of columns
  std::int64_t patches = 0;  // steps where the rung is streamed
  std::int64_t batch = 1;    // patches that the rung computes together
  std::int64_t places = 0;   // of a batch that others may have the rest of; 0 where it needs one for itself
  // Planes of the input that a job wants at a time: what a PlaneSource must have room for. Of a job that begins at a
  // later plane: as the outlook of the planes from there on has it.
  std::int64_t input_planes = 0;
  // Of the largest slab, and how many such slabs are open at a time. These and input_planes are enough, too, for the
  // rung of the CPU that goes on where the job's own fails with its GPU.
  std::int64_t slab_planes = 1;
  std::int64_t slabs = 1;
  std::int64_t list_bytes = 0;         // that the list of its patches takes while it runs, beside the engine's memory
  std::int64_t most_held = saturated;  // that it was asked for: a job must be told the same
  Seconds predicted_seconds = 0;
};

// Bytes [first, first + bytes).
struct ByteRange {
  std::int64_t first = 0;
  std::int64_t bytes = 0;
  bool operator==(const ByteRange&) const = default;
};

class Engine {
 public:
  // Whether open() would take `plan`, whatever the devices have left: its steps fit the network and the
  // primitives, its segments run here, its memory is what its steps take. `gpu`: nullptr where there is none.
  [[nodiscard]] static Result<void> check_plan(const Network& network, const Plan& plan, const Catalogue& catalogue,
                                               const DeviceSpec& spec, const DeviceSpec* gpu = nullptr);

  // Reserves plan.memory from `devices` and prepares every rung. `weights` and the devices must outlive the engine.
  // `unsupported` when the plan names a GPU and there is none; where one failed to open, and devices.lacking says why,
  // the plan's rungs on the CPU serve alone.
  [[nodiscard]] static Result<std::unique_ptr<Engine>> open(const Network& network, const NetworkWeights& weights,
                                                            const Plan& plan, const Catalogue& catalogue,
                                                            const PlaceDevices& devices);
  struct State;
  explicit Engine(std::unique_ptr<State> state);  // by open()
  ~Engine();

  // invalid_argument when an extent is below the field of view or the images differ: names both numbers.
  // `output`: the type of the job's slabs. `most_held`: bytes that a job may hold of its volume, of its output and of
  // the list of its patches at a time. Where a rung is streamed in several columns or turns, output waits for the last:
  // as many planes as that allows, at least one, and the columns begin anew for the next, all but one
  // (planner/geometry/patch_grid.hpp). Rungs that hold more are avoided.
  [[nodiscard]] Result<JobOutlook> outlook(const VolumeShape& input, ElementType output = ElementType::f32,
                                           std::int64_t most_held = saturated) const;

  // In which parts a volume that outlook() takes is computed soonest: each as outlook() has it, for the same bytes
  // held. over_budget, with numbers, where a job would hold more of every part; `cancelled` when `stop` came first.
  [[nodiscard]] Result<VolumeCut> cut(const VolumeShape& input, ElementType output = ElementType::f32,
                                      std::int64_t most_held = saturated, const std::stop_token& stop = {}) const;

  // Blocks until done. One job at a time computes; others may run while it stands between patches, as Interval says.
  // Stops between layers with `cancelled`. An error ends the job, not the engine. invalid_argument when the job's first
  // plane is none of the output's, or its rung none of the plan's.
  [[nodiscard]] Result<JobStatistics> run(const VolumeJob& job, std::stop_token stop);

  // Has the system give every page of a part of the memory of rungs on the CPU now, on each socket, which else the
  // first job would wait for: the seconds that took. `cancelled` when `stop` came first. Not while a job computes.
  [[nodiscard]] Result<Seconds> touch_memory(const ByteRange& part, std::stop_token stop);
  // All of it, and where in it a rung lies, on each socket alike; nothing of one with a GPU.
  [[nodiscard]] ByteRange memory() const;
  [[nodiscard]] ByteRange memory_of(std::size_t rung) const;

  // Runs one pass of rung `rung` of the ladder on zeros: shows that it runs.
  [[nodiscard]] Result<void> warm_up(std::size_t rung, std::stop_token stop);

  // From the next run on; an empty one is told nothing. Rungs with a GPU tell nothing. Not while a job runs.
  void observe(CallObserver observer);

  // From now on outlook() counts, for rungs before this one, the time the system takes to give a first job their pages:
  // a small job is done sooner on a rung that has them, a large one does not mind. Any thread.
  void touched_from(std::size_t rung);
  [[nodiscard]] std::size_t first_touched() const;
  // Whether jobs on this rung may run between the steps of a streamed one. False for one that is none.
  [[nodiscard]] bool beside_streams(std::size_t rung) const;
  // Of a job that outlook() takes, on the fastest of those rungs; nothing where there are none.
  [[nodiscard]] std::optional<JobOutlook> outlook_beside_streams(const VolumeShape& input,
                                                                 ElementType output = ElementType::f32) const;

  // JobOutlook::places of a job on its rung, of which all lies in memory; 0 as well where it does not, or has no rung.
  [[nodiscard]] std::int64_t guest_places(const VolumeJob& job) const;
  // Of a job that outlook() takes, on the rung where its part of a shared batch is predicted to take least;
  // predicted_seconds are those of that part. Nothing where no rung is shared: those that are streamed or have a GPU
  // are not.
  [[nodiscard]] std::optional<JobOutlook> outlook_as_guest(const VolumeShape& input,
                                                           ElementType output = ElementType::f32) const;

  // Instead of GpuRetry::first_wait. Before the first job.
  void retry_gpu_after(Seconds wait);
  // Why the plan's rungs with a GPU are not used now; nothing while they are, or where there are none.
  [[nodiscard]] std::optional<std::string> gpu_lost() const;
  // Returns true if it will not be asked again either: only another process can use it.
  [[nodiscard]] bool gpu_lost_for_good() const;

  [[nodiscard]] const Plan& plan() const;
  // Voxels per axis by which the output is smaller than the volume, plus 1: the network's field of view, less what it
  // pads.
  [[nodiscard]] Vec3 field_of_view() const;
  [[nodiscard]] Vec3 patch() const;  // input extent of the planned patch
  [[nodiscard]] std::int64_t f_in() const;
  [[nodiscard]] std::int64_t f_out() const;
  // Bytes reserved from the device for this engine: equals plan().memory less the weights.
  [[nodiscard]] std::int64_t reserved_bytes() const;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace znni
