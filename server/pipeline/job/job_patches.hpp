// One job on one rung, patch after patch in the order of its grid. It decides which planes the job waits for, which
// slabs it opens and delivers, when others may run, and what it tells. How patches are computed is a strategy's: on
// sockets side by side (server/pipeline/job_run.hpp), or by a head and a tail one after the other
// (server/pipeline/split/head_and_tail.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>

#include "planner/geometry/patch_grid.hpp"
#include "primitives/core/executor.hpp"
#include "server/pipeline/job/gain_meter.hpp"
#include "server/pipeline/job/input_window.hpp"
#include "server/pipeline/job/slab_queue.hpp"
#include "server/pipeline/job/volume_job.hpp"
#include "server/volume/stitcher.hpp"

namespace znni {

// Computes the patches of a job.
class PatchStrategy {
 public:
  virtual ~PatchStrategy() = default;

  // Returns the patch that is computed next.
  [[nodiscard]] virtual std::int64_t next() const = 0;
  // Wants the planes that the patches from next() on read (JobPatches::want).
  virtual void want_next() = 0;
  // Computes patches from next() on and delivers them, at most until others want to run; all of them if none does.
  [[nodiscard]] virtual Result<void> run(const std::stop_token& stop) = 0;
  // Returns where the time of the job went so far, without layers one by one.
  [[nodiscard]] virtual StageSeconds stages() = 0;
};

class JobPatches {
 public:
  // Reads and delivers the patches of a job. `input` is the job's window over `grid`, `output` the whole dense output.
  // All arguments must outlive this.
  JobPatches(const VolumeJob& job, const PatchGrid& grid, const Geometry& geometry, const Shape5& output,
             InputWindow input);

  // Blocks until the strategy has delivered all patches. Lets others run before the first one if its planes are not
  // here, and whenever the strategy comes back. Tells the job what it gained, also if it fails.
  [[nodiscard]] Result<void> run(PatchStrategy& strategy, const std::stop_token& stop);

  [[nodiscard]] const VolumeJob& job() const { return job_; }
  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(grid_.patches.size()); }
  [[nodiscard]] std::int64_t done() const { return done_; }  // those before it are delivered
  // Returns a patch of the grid. The last batch repeats the last patch.
  [[nodiscard]] const GridPatch& patch(std::int64_t number) const;

  // Do what InputWindow does, for the patches [first, last). One thread at a time may call these three; it may differ
  // from that of aim() and deliver().
  void want(std::int64_t first, std::int64_t last) { input_.move_to(first, last); }
  [[nodiscard]] Result<void> wait(const std::stop_token& stop) { return input_.wait(stop); }
  [[nodiscard]] bool is_here() const { return input_.source().here(); }
  // Reads the windows at the places `starts` of the source, as float32. Several threads may call it at once.
  void read(std::span<const Vec3> starts, const TensorView& to, Executor& executor) const;
  // Returns the window of extent `n` at `start` where it lies in the source, if a layer may read it there
  // (window_in_place()).
  [[nodiscard]] std::optional<TensorView> window_in_place(Vec3 start, Vec3 n) const;

  // Aims the entries of a batch at the patches from `first` on (SlabQueue::aim).
  [[nodiscard]] Result<void> aim(std::int64_t first, std::span<StitchTarget> targets) {
    return slabs_.aim(first, targets);
  }
  // Stitches what a pass wrote into the entries of its batch. Several threads may call it at once.
  void stitch(std::size_t pass, const TensorView& from, std::span<const StitchTarget> to, Executor& executor) const {
    stitcher_.stitch(pass, from, to, executor);
  }
  // Does what Stitcher::output_in_place() does.
  [[nodiscard]] std::optional<TensorView> output_in_place(const Shape5& out, std::span<const StitchTarget> to) const {
    return stitcher_.output_in_place(out, to);
  }
  // Tells the job that patches [0, done) are stitched and took `stages`, and delivers the rows that they complete.
  [[nodiscard]] Result<void> deliver(std::int64_t done, const StageSeconds& stages);
  // Tells how far the patches under way are, together, in patches. One thread at a time, and none during deliver().
  void tell_under_way(double patches) const;

 private:
  [[nodiscard]] Result<void> run_all(PatchStrategy& strategy, const std::stop_token& stop);

  const VolumeJob& job_;
  const PatchGrid& grid_;
  int axis_;
  Stitcher stitcher_;
  InputWindow input_;
  SlabQueue slabs_;
  GainMeter gain_;
  std::int64_t done_ = 0;
};

}  // namespace znni
