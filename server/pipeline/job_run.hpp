// One job on one rung of an engine: its patches in the order of the grid, on one seat or, where the plan takes several
// sockets, side by side on one seat each.
#pragma once

#include <span>
#include <stop_token>

#include "planner/geometry/patch_grid.hpp"
#include "server/pipeline/engine.hpp"
#include "server/pipeline/prepared_rung.hpp"

namespace znni {

// What computes a patch alone: a rung in memory of its own, and its workers.
struct Seat {
  PreparedRung* rung = nullptr;
  Executor* executor = nullptr;
};

// All of them borrowed for the run; the seats are alike.
struct JobWork {
  const VolumeJob& job;   // with a source
  const PatchGrid& grid;  // made for as many sockets as there are seats
  Shape5 output;          // the whole dense one
  Seconds predicted = 0;  // of a batch of S patches on one seat
  std::span<const Seat> seats;
  Executor* drivers = nullptr;   // of several seats: as many workers, of which each drives a seat
  const CallObserver& observer;  // told of one call at a time, whichever seat ran it
  bool has_guests = false;       // the job's may come: the rung is that on which they wait
  Border frame = {};             // the network's: `grid` counts it
};

// Blocks until all patches are written and their slabs delivered, in order. S patches of the grid form a batch; the
// last batch repeats its last patch, which then owns nothing. Several seats take a batch each at a time or, of a
// stream, a column each of the same row, or a turn of one, step by step; fewer of them where the caller has no memory
// for the slabs of so many rows. An error of one seat stops the others, that of a guest is its own. The same voxels, to
// the last bit, for any number of seats, and with guests or without. Says where the time went.
[[nodiscard]] Result<StageSeconds> run_job(const JobWork& work, const std::stop_token& stop);

}  // namespace znni
