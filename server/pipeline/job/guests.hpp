// Small jobs in the entries that another job's last batch leaves free (JobSchedule::guests).
#pragma once

#include <chrono>
#include <deque>
#include <span>
#include <vector>

#include "planner/geometry/patch_grid.hpp"
#include "primitives/core/executor.hpp"
#include "server/pipeline/job/slab_queue.hpp"
#include "server/pipeline/job/volume_job.hpp"
#include "server/volume/plane_source.hpp"
#include "server/volume/stitcher.hpp"

namespace znni {

// Returns entries [first, first + count) of a batch.
[[nodiscard]] TensorView entries_of(TensorView in, std::int64_t first, std::int64_t count);

// For one batch. Each guest is told how it ended, once: by deliver(), or when this is destroyed without it, that it did
// not run.
class Guests {
 public:
  // Takes guests along. `geometry` is the rung's, not streamed; `fov` the network's. The guests' patches take
  // `entries()` of its S entries.
  Guests(std::vector<Guest> guests, const Geometry& geometry, Vec3 fov);
  ~Guests();
  Guests(const Guests&) = delete;
  Guests& operator=(const Guests&) = delete;

  [[nodiscard]] std::int64_t entries() const;
  // Opens their slabs. targets.size() == entries(). A guest that has no room writes nothing and is told why.
  void aim(std::span<StitchTarget> targets);
  // Reads their windows at `begin` from the start of each patch into the last entries of the batch `in`.
  void read(Vec3 begin, const TensorView& in, Executor& executor) const;
  // Delivers, once the batch is stitched.
  void deliver();

 private:
  struct Visit {
    Visit(Guest who, const Geometry& geometry, Vec3 fov);

    Guest guest;
    PatchGrid grid;
    WholeVolume source;
    std::vector<OutputSlab> open;  // asked for and not delivered
    VolumeJob job;                 // the guest's, noting these
    SlabQueue slabs;
    Result<void> ran;
  };
  static void give_back(Visit& visit);
  void tell(Visit& visit) const;

  const Geometry& geometry_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::deque<Visit> visits_;  // where they stay
  bool delivered_ = false;
};

}  // namespace znni
