// One job on one rung of an engine: its patches in the order of the grid. They run on one socket or, if the plan takes
// several, side by side on each.
#pragma once

#include <optional>
#include <span>
#include <stop_token>

#include "planner/geometry/patch_grid.hpp"
#include "server/pipeline/job/volume_job.hpp"
#include "server/pipeline/job/window_blend.hpp"
#include "server/pipeline/schedule/call_observer.hpp"
#include "server/pipeline/schedule/prepared_schedule.hpp"

namespace znni {

// The rung in the memory of one socket and the workers that run it: computes one patch by itself.
struct SocketRung {
  PreparedSchedule* rung = nullptr;
  Executor* executor = nullptr;
};

// All of them borrowed for the run; the sockets are alike.
struct JobWork {
  const VolumeJob& job;   // with a source
  const PatchGrid& grid;  // made for as many sockets
  Shape5 output;          // the whole dense one
  Seconds predicted = 0;  // of a batch of S patches on one socket
  std::span<const SocketRung> sockets;
  Executor* drivers = nullptr;   // of several sockets: as many workers, of which each drives one
  const CallObserver& observer;  // told of one call at a time, whichever socket ran it
  bool has_guests = false;       // the job may share its last batch: it runs on the rung that its guests wait for
  Border frame = {};             // of the network; `grid` counts it
  // Set: the patches are overlapping windows, each read as a volume of its own, whose weighted mean is the output.
  std::optional<WindowWeight> blend = {};
};

// Blocks until all patches are written and their slabs delivered, in order. S patches of the grid form a batch. The
// last batch repeats its last patch, which then owns nothing. Several sockets take a batch each at a time. In a stream
// they take a column each of the same row, or a phase of one, step by step. Fewer sockets run if the caller has no
// memory for the slabs of so many rows. An error of one socket stops the others; an error of a guest ends only that
// guest. The voxels are the same to the last bit for any number of sockets, with guests or without. Returns where the
// time went.
[[nodiscard]] Result<StageSeconds> run_job(const JobWork& work, const std::stop_token& stop);

}  // namespace znni
