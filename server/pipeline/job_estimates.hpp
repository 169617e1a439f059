// Predicts jobs from geometries alone: which rung suits a volume best, how long it takes, and what a job on it holds.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "planner/geometry/patch_grid.hpp"
#include "planner/plan/plan.hpp"
#include "server/pipeline/job/window_blend.hpp"
#include "server/pipeline/job_estimate.hpp"
#include "server/volume/volume_view.hpp"

namespace znni {

// Itself, and the planes it reads (input_window.hpp).
inline constexpr auto list_bytes_per_patch = static_cast<std::int64_t>(sizeof(GridPatch) + 2 * sizeof(std::int64_t));

// A network, as far as jobs on it are predicted. Where it has a frame, all extents of inputs here count it.
struct NetworkShape {
  Vec3 fov;
  Border frame;
  bool is_dense = true;
  bool is_bound = false;                           // to its window
  std::function<Result<void>(Vec3)> check_volume;  // as check_volume() of the network
  std::int64_t f_in = 0;
  std::int64_t f_out = 0;

  // Returns the input with its frame.
  [[nodiscard]] VolumeShape framed(VolumeShape input) const;
  // Returns the dense output of an input of extent `n`.
  [[nodiscard]] Vec3 output(Vec3 n) const { return n - fov + Vec3::cube(1); }
};
[[nodiscard]] NetworkShape network_shape(const Network& network);

// A rung, likewise.
struct RungFacts {
  const Rung* rung = nullptr;  // of the plan
  bool on_cpu = true;
  Geometry geometry;       // empty where the GPU failed before the rung was open
  Geometry round;          // of what is computed at a time: on the CPU as if the batches of all sockets were one
  std::int64_t bytes = 0;  // of a socket's memory that it shares with other rungs on the CPU
};

// A volume, what its slabs hold, and the bytes that a job may hold of both.
struct Work {
  VolumeShape input;
  ElementType output = ElementType::f32;
  std::int64_t max_held = saturated;
};

// The rung of a job, and the one on the CPU on which it goes on if the GPU fails.
struct Course {
  std::size_t rung = 0;
  std::optional<std::size_t> fallback;
};

// Thread safe, but for blend_windows(). `now`, below: the rungs that run now, of which there is one at least.
class JobEstimates {
 public:
  // Estimates jobs on `rungs`, those of the ladder, in its order. The plan must outlive this.
  JobEstimates(NetworkShape network, std::vector<RungFacts> rungs, int sockets)
      : network_(std::move(network)), rungs_(std::move(rungs)), sockets_(sockets) {}

  // Do what Engine::touched_from() and first_touched() do.
  void touched_from(std::size_t rung) { first_touched_ = rung; }
  [[nodiscard]] std::size_t first_touched() const { return first_touched_; }
  // Does what Engine::blend_windows() does.
  void blend_windows(const WindowBlend& blend) { blend_ = blend; }

  [[nodiscard]] const NetworkShape& network() const { return network_; }
  // Returns whether a rung's patches have room for a volume of extent `n` along the axes that they span. Windows are
  // laid over volumes of any extent.
  [[nodiscard]] bool takes(std::size_t rung, Vec3 n) const;
  // Returns whether a rung's patches span a volume along z. They hold its borders there, so that a job on them begins
  // with plane 0.
  [[nodiscard]] bool spans_z(std::size_t rung) const;
  // Returns the estimate of the rung that suits the work best; fails if the input does not fit the network.
  [[nodiscard]] Result<JobEstimate> best(const Work& work, std::span<const std::size_t> now) const;
  // Returns the same of an input that fits.
  [[nodiscard]] JobEstimate best_of_sound(const Work& work, std::span<const std::size_t> now) const;
  // Returns the estimate of a rung, alone: without room for a fallback.
  [[nodiscard]] JobEstimate on(std::size_t rung, const Work& work) const;
  // Returns the rung of the CPU that goes on with a job if the job's own rung fails with its GPU. It is the best,
  // together with its own, of those in memory that serves both; one that spans z only where all do. Takes the memory of
  // the fallbacks for touched, so that a job finds the one that it was told of. Nothing where its own is on the CPU, or
  // none is.
  [[nodiscard]] std::optional<std::size_t> fallback_of(std::size_t rung, const Work& work) const;
  // Returns the maximum output planes that may be buffered if a rung of the course is streamed. Counts the planes, the
  // input behind them, which is read again in every phase, and the list of patches. The fallback fits in the same
  // lease.
  [[nodiscard]] std::int64_t max_planes(const Course& course, const Work& work) const;
  // Returns the entries that a job of so many patches takes of a batch on this rung, where others have some too; 0
  // where it must have the batch for itself.
  [[nodiscard]] std::int64_t guest_entries(std::size_t rung, std::int64_t patches) const;
  // Returns what a job holds of its volume, of its output and of its patches' list at a time. Of tiny patches it needs
  // few planes, but there may be billions of them.
  [[nodiscard]] std::int64_t held_bytes(const JobEstimate& estimate, const Work& work) const;

  // Returns what windows that are laid over an input count where they overlap; nothing if it is computed as it is: the
  // network is not bound to its window, or that is the window.
  [[nodiscard]] std::optional<WindowWeight> blend_of(Vec3 n) const;
  [[nodiscard]] PatchGrid window_grid(Vec3 n) const;

 private:
  [[nodiscard]] JobEstimate on(std::size_t rung, const Work& work, std::int64_t most) const;
  [[nodiscard]] JobEstimate touched_on(std::size_t rung, const Work& work, std::int64_t most) const;
  [[nodiscard]] JobEstimate with_fallback(std::size_t rung, const Work& work) const;
  [[nodiscard]] JobEstimate over_windows(const Work& work) const;
  [[nodiscard]] Vec3 windows_over(Vec3 output) const;
  [[nodiscard]] Result<void> check(const VolumeShape& input) const;
  [[nodiscard]] Result<void> check_windows(Vec3 n) const;
  [[nodiscard]] bool is_better(const JobEstimate& a, const JobEstimate& b, const Work& work) const;
  [[nodiscard]] bool is_better_behind(const JobEstimate& a, const JobEstimate& b, const Work& work) const;
  [[nodiscard]] std::int64_t planes_beside_band(std::size_t rung) const;
  [[nodiscard]] std::int64_t planes_held(std::size_t rung, Vec3 input, std::int64_t most) const;
  [[nodiscard]] std::int64_t input_plane_bytes(const Work& work) const;
  [[nodiscard]] std::int64_t output_plane_bytes(const Work& work) const;
  [[nodiscard]] Seconds predicted(std::size_t rung, Vec3 n, std::int64_t most) const;
  [[nodiscard]] Seconds seconds_to_touch(std::size_t rung) const;

  NetworkShape network_;
  std::vector<RungFacts> rungs_;
  int sockets_;
  WindowBlend blend_;                           // of the windows of a volume that is another
  std::atomic<std::size_t> first_touched_ = 0;  // rungs before it may lack pages
};

}  // namespace znni
