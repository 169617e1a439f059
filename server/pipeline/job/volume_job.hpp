// A job for an engine, in four parts: its input, the place of its output, when it runs, and what is told and counted
// meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "server/pipeline/job/job_gain.hpp"
#include "server/pipeline/job/job_statistics.hpp"
#include "server/volume/plane_source.hpp"

namespace znni {

struct JobProgress {
  std::int64_t patches_done = 0;
  std::int64_t patches = 0;
  std::int64_t planes_done = 0;  // output planes [0, planes_done) are complete
  double under_way = 0;  // done of the patches under way together, in patches: by the predicted times of their layers
};

// A moment between two patches, or two steps of a stream, of a job.
struct Interval {
  // True: the stream's planes stay in the engine's memory. Jobs on other engines may run; on this engine only jobs on
  // rungs for which Engine::beside_streams() is true. False: the job keeps nothing there, and any job may run.
  bool within_stream = false;
};

struct Guest;

// The voxels that a job reads. They must stay valid until Engine::run() returns. Output may lie in the same memory only
// if the job has a single patch.
struct JobInput {
  VolumeView volume;
  // Optional. Gives the planes, except those before JobSink::first_plane. Then only the shape of `volume` is used,
  // which must be the source's.
  PlaneSource* source = nullptr;
  Normalisation normalisation;
  bool normalised = false;  // voxels already are what the network expects: a ModelServer keeps the model's off
};

// The receiver of a job's output, slab by slab.
struct JobSink {
  ElementType type = ElementType::f32;  // of its slabs: as its estimate was asked for
  // The first output plane to compute: an interrupted job goes on where its last slab ended. The input planes, fov - 1,
  // that it shares with earlier output planes are read again.
  std::int64_t first_plane = 0;
  // Returns memory for output planes [first_plane, first_plane + planes), in the job's output type and order. Planes
  // are asked for in rising order without overlap. The slab is full when `deliver` is called with it.
  std::function<Result<OutputSlab>(std::int64_t first_plane, std::int64_t planes)> slab;
  std::function<Result<void>(const OutputSlab&)> deliver;
  // Optional. Called with a slab that was asked for and will not be delivered: its planes are asked for again.
  std::function<void(const OutputSlab&)> abandon;
  std::function<bool()> has_room;  // optional; false: slab() would wait until the client has taken output
};

// When and where a job runs, and who may run beside it.
struct JobSchedule {
  // Rung of the job's estimate, for which the caller reserved memory. Empty: the rung that is fastest now.
  std::optional<std::size_t> rung;
  std::int64_t max_held = saturated;  // as its estimate was asked for
  // Optional. Called between patches: until it returns, other jobs may run. Its error ends the job.
  std::function<Result<void>(const Interval&)> between_patches;
  // Optional; default true. Returns whether calling `between_patches` now would let another job run. A rung with a GPU
  // asks this first, because its two sides must come to rest before other jobs can run.
  std::function<bool(const Interval&)> wanted;
  // Optional. Called if the job's last batch, on that rung, leaves this many entries free. Returns jobs to run in them,
  // with at most that many patches together.
  std::function<std::vector<Guest>(std::int64_t entries)> guests;
  // True: the first steps of a stream run all nodes, as later steps do. For measuring a step; only for rungs on a CPU.
  bool whole_steps = false;
  // For a ModelServer, not for the engine: ModelInfo::number of the job's model. 0: the model that serves now.
  std::int64_t model = 0;
  int priority = 0;  // smaller ones go first; 0: as usual
};

// The reports and counts of a job.
struct JobAccount {
  // Optional. Called after each patch and each layer, by one thread at a time.
  std::function<void(const JobProgress&)> progress;
  // Optional. Is told what is new after each batch, before its output is delivered, and at the end, also if the
  // job fails. No voxel is told twice, even if another rung goes on. Called by one thread at a time.
  std::function<void(const JobGain&)> gained;
  std::int64_t held_bytes = 0;  // memory of its request, held while it waits and runs: for statistics
  // Optional. Is told false while the job waits, at first and again if the batch it was to join as a guest fails.
  // Told true when the job has its turn or runs as a guest.
  std::function<void(bool)> in_turn;
};

struct VolumeJob {
  JobInput input;
  JobSink sink;
  JobSchedule schedule;
  JobAccount account;
};

// A small job, of as many entries as Engine::guest_entries() says, that runs in another job's batch.
struct Guest {
  const VolumeJob* job = nullptr;
  // Called once, by the other job's thread, which does not touch the job afterwards. nullptr: the job did not run.
  std::function<void(const Result<JobStatistics>*)> ended;
};

}  // namespace znni
