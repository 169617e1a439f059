// Holds what an engine has open: its rungs, prepared, and the memory of those on the CPU. For engine.cpp alone.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "planner/geometry/patch_grid.hpp"
#include "planner/network/exchange.hpp"
#include "planner/plan/throughput.hpp"
#include "server/pipeline/blender.hpp"
#include "server/pipeline/gpu_retry.hpp"
#include "server/pipeline/pipeline.hpp"
#include "server/pipeline/prepared_rung.hpp"
#include "server/pipeline/rung_places.hpp"
#include "server/pipeline/window_blend.hpp"

namespace znni {

// Its place, and the planes it reads (input_window.hpp).
inline constexpr auto list_bytes_per_patch = static_cast<std::int64_t>(sizeof(PatchPlace) + 2 * sizeof(std::int64_t));

struct Engine::State {
  // A socket of the CPU, or all of it as a whole.
  struct Socket {
    Device* device = nullptr;
    Reservation transient;  // shared by all rungs on the CPU: only one runs at a time
  };
  // Prepared: on the CPU, or with a GPU.
  struct OpenRung {
    std::vector<PreparedRung> cpu;    // on each of the sockets
    std::unique_ptr<Pipeline> split;  // neither where the GPU failed before it was open
    std::int64_t split_bytes = 0;     // of the host's memory
    Geometry side_by_side;            // on the CPU: as if the batches of all sockets were one

    [[nodiscard]] bool on_cpu() const { return !cpu.empty(); }
    [[nodiscard]] bool is_open() const { return on_cpu() || split != nullptr; }
    [[nodiscard]] const Geometry& geometry() const { return on_cpu() ? cpu.front().geometry() : split->geometry(); }
    // What is computed at a time.
    [[nodiscard]] const Geometry& round() const { return on_cpu() ? side_by_side : split->geometry(); }
  };

  Plan plan;
  std::vector<Socket> sockets;
  Executor* drivers = nullptr;  // of several sockets
  Vec3 fov;
  Border frame;           // the network's; where there is one, all extents of inputs below count it
  bool is_dense = true;   // the network is
  bool is_bound = false;  // to its window
  WindowBlend blend;      // of the windows of a volume that is another
  std::function<Result<void>(Vec3)> check_volume;  // as check_volume() of the network
  std::int64_t f_in = 0;
  std::int64_t f_out = 0;
  std::vector<OpenRung> rungs;
  std::vector<RungPlace> places;               // of rungs in each socket's memory
  std::atomic<std::size_t> first_touched = 0;  // those before it may lack pages
  CallObserver observer;
  mutable std::mutex mutex;  // guards all of these
  std::optional<std::string> gpu_lost;
  bool lost_for_good = false;
  GpuRetry gpu_retry;

  [[nodiscard]] std::optional<std::string> why_lost() const {
    const std::lock_guard lock(mutex);
    return gpu_lost;
  }
  [[nodiscard]] bool is_lost_for_good() const {
    const std::lock_guard lock(mutex);
    return lost_for_good;
  }
  // Notes that the GPU failed for this reason, for the first time or again. With `mutex` held.
  void note_failure(const Error& reason) {
    lost_for_good = lost_for_good || reason.code == ErrorCode::device_lost;
    if (!gpu_lost || reason.code == ErrorCode::device_lost) gpu_lost = reason.message;
    gpu_retry.failed(GpuRetry::Clock::now());
  }
  // Returns whether jobs may go on without a GPU that fails for this reason; notes the failure if so.
  [[nodiscard]] bool lose_gpu(const Error& reason) {
    if (std::none_of(rungs.begin(), rungs.end(), [](const OpenRung& rung) { return rung.on_cpu(); })) return false;
    const std::lock_guard lock(mutex);
    note_failure(reason);
    return true;
  }
  // Returns whether a lost GPU is to be asked again whether it works.
  [[nodiscard]] bool is_retry_due() const {
    const std::lock_guard lock(mutex);
    return gpu_lost && !lost_for_good && gpu_retry.is_due(GpuRetry::Clock::now());
  }
  // Asks every rung with a GPU. A GPU that did not open, or had no memory for a rung then, stays lost.
  void retry_gpu(const std::stop_token& stop) {
    Result<void> works = Error{ErrorCode::device_failure, "no rung with a GPU is open"};
    for (OpenRung& rung : rungs) {
      if (rung.on_cpu()) continue;
      if (!rung.split) return;
      works = rung.split->warm_up(stop);
      if (!works) break;
    }
    if (!works && works.error().code == ErrorCode::cancelled) return;
    const std::lock_guard lock(mutex);
    if (!works) return note_failure(works.error());
    gpu_retry.passed();
    gpu_lost.reset();
  }
  // Returns the rungs that run now: without those of a GPU that is lost.
  [[nodiscard]] std::vector<std::size_t> rungs_now() const {
    const bool lost = why_lost().has_value();
    std::vector<std::size_t> now;
    for (std::size_t i = 0; i < rungs.size(); ++i) {
      if (rungs[i].on_cpu() || !lost) now.push_back(i);
    }
    ensure(!now.empty(), "a GPU is lost where rungs on the CPU are left");
    return now;
  }
  // Returns whether a rung's patches have room for a volume of extent `n` along the axes that they span. Windows are
  // laid over volumes of any extent.
  [[nodiscard]] bool takes(std::size_t rung, Vec3 n) const {
    const GeometryChoice& choice = plan.ladder[rung].geometry;
    const Vec3 patch = exchanged(choice.pass_input, choice.axis);
    return is_bound || covers(patch, n * exchanged(choice.closed, choice.axis));
  }
  [[nodiscard]] std::vector<std::size_t> rungs_for(Vec3 n) const {
    std::vector<std::size_t> fit = rungs_now();
    std::erase_if(fit, [&](std::size_t rung) { return !takes(rung, n); });
    return fit;
  }
  [[nodiscard]] const OpenRung& front() const { return rungs[rungs_now().front()]; }

  // A volume, what its slabs hold, and the bytes that a job may hold of both.
  struct Work {
    VolumeShape input;
    ElementType output = ElementType::f32;
    std::int64_t most_held = saturated;
  };

  // Where a job runs, and where on the CPU it goes on if the GPU fails.
  struct Course {
    std::size_t rung = 0;
    std::optional<std::size_t> spare;
  };

  // Returns the input with its frame.
  [[nodiscard]] VolumeShape framed(VolumeShape input) const {
    input.n = input.n + frame.begin + frame.end;
    return input;
  }

  // Returns the maximum output planes that may be buffered if a rung of the course is streamed. Counts the planes, the
  // input behind them, which is read again in every turn, and the list of patches. The spare fits in the same lease.
  [[nodiscard]] std::int64_t most_planes(const Course& course, const Work& work) const {
    if (work.most_held == saturated || is_bound) return saturated;
    const auto most = [&course](const auto& of) {
      return course.spare ? std::max(of(course.rung), of(*course.spare)) : of(course.rung);
    };
    const Vec3 n = work.input.n;
    const std::int64_t in = plane_bytes_of(f_in, n, work.input.type);
    const std::int64_t out = plane_bytes_of(f_out, n - fov + Vec3::cube(1), work.output);
    const std::int64_t beside = most([&](std::size_t rung) { return planes_beside_band(rung); });
    const auto planes_of = [&](std::int64_t bytes) {
      return std::max<std::int64_t>(1, (bytes - mul(beside, in)) / add(in, out));
    };
    const std::int64_t thickest = planes_of(work.most_held);
    const std::int64_t patches =
        most([&](std::size_t rung) { return patch_count(n, rungs[rung].geometry(), fov, thickest, plan.sockets); });
    // Twice: the thinner bands that leave room for it have a few patches more.
    return planes_of(work.most_held - std::min(work.most_held, mul(2, mul(patches, list_bytes_per_patch))));
  }
  // Returns the extra input planes around a band: those before it and the rest of its last step. With a GPU those of
  // the next two steps, too.
  [[nodiscard]] std::int64_t planes_beside_band(std::size_t rung) const {
    const Geometry& geometry = rungs[rung].geometry();
    if (!geometry.choice.streamed) return 0;
    const std::int64_t border = fov.z - 1 + geometry.lead + geometry.patch_output.z;
    return rungs[rung].on_cpu() ? border : 2 * border + geometry.patch_output.z;
  }
  [[nodiscard]] static std::int64_t plane_bytes_of(std::int64_t f, Vec3 n, ElementType type) {
    return volume_bytes({f, {1, n.y, n.x}, type});
  }
  // Planes of such an input that a rung wants at a time: a batch is under way on each socket, with a GPU three are.
  [[nodiscard]] std::int64_t planes_held(std::size_t rung, Vec3 input, std::int64_t most) const {
    const Geometry& round = rungs[rung].round();
    return rungs[rung].on_cpu() ? input_planes(input, round, fov, most, plan.sockets)
                                : input_planes_ahead(input, round, fov, most);
  }

  // Until the system has given a rung its pages: it clears one or two GiB of them in a second.
  [[nodiscard]] Seconds seconds_to_touch(std::size_t rung) const {
    constexpr double bytes_per_second = 1U << 30U;
    return rung < first_touched ? static_cast<double>(places[rung].memory.bytes) / bytes_per_second : 0;
  }
  // Alone.
  [[nodiscard]] JobOutlook outlook_on(std::size_t rung, const Work& work) const {
    return outlook_on(rung, work, most_planes({rung, {}}, work));
  }
  // `most`: planes that may wait.
  [[nodiscard]] JobOutlook outlook_on(std::size_t rung, const Work& work, std::int64_t most) const {
    JobOutlook outlook = touched_outlook_on(rung, work, most);
    outlook.predicted_seconds += seconds_to_touch(rung);
    return outlook;
  }
  // As if it had its pages.
  [[nodiscard]] JobOutlook touched_outlook_on(std::size_t rung, const Work& work, std::int64_t most) const {
    const VolumeShape& input = work.input;
    const Geometry& geometry = rungs[rung].geometry();
    JobOutlook outlook;
    outlook.output = {1, f_out, input.n - fov + Vec3::cube(1)};
    outlook.most_held = work.most_held;
    outlook.rung = rung;
    outlook.patch = exchanged(geometry.patch_input, geometry.choice.axis);
    outlook.patch.z = fov.z - 1 + row_planes(input.n, geometry, fov, most);
    outlook.patches = patch_count(input.n, geometry, fov, most, plan.sockets);
    outlook.batch = geometry.choice.S;
    outlook.places = guest_places(rung, outlook.patches);
    outlook.list_bytes = mul(outlook.patches, list_bytes_per_patch);
    outlook.input_planes = planes_held(rung, input.n, most);
    outlook.slab_planes = std::min(outlook.output.n.z, row_planes(input.n, geometry, fov, most));
    outlook.slabs = rows_of_batch(input.n, rungs[rung].round(), fov);
    const std::int64_t batches = batches_in_turn(input.n, geometry, fov, most, plan.sockets);
    const std::int64_t streams = streams_in_turn(input.n, geometry, fov, most, plan.sockets);
    outlook.predicted_seconds = static_cast<double>(batches) * plan.ladder[rung].seconds -
                                static_cast<double>(streams) * idle_seconds(plan.ladder[rung], geometry);
    return outlook;
  }
  // The rung of the CPU that goes on with a job whose own fails with its GPU: the best, together with its own, of those
  // in memory that serves both, whatever of it has its pages, so that a job finds the one that it was told of. Nothing
  // where its own is on the CPU, or none is.
  [[nodiscard]] std::optional<std::size_t> spare_of(std::size_t rung, const Work& work) const {
    if (rungs[rung].on_cpu()) return std::nullopt;
    std::optional<JobOutlook> best;
    for (std::size_t i = 0; i < rungs.size(); ++i) {
      if (!rungs[i].on_cpu() || !takes(i, work.input.n)) continue;
      const std::int64_t most = most_planes({rung, i}, work);
      const JobOutlook own = outlook_on(rung, work, most);
      JobOutlook both = with_room_for(touched_outlook_on(i, work, most), own);
      both.predicted_seconds += own.predicted_seconds;
      if (!best || is_better(both, *best, work)) best = both;
    }
    return best ? std::optional(best->rung) : std::nullopt;
  }
  // With room for the spare.
  [[nodiscard]] JobOutlook whole_outlook_on(std::size_t rung, const Work& work) const {
    const Course course{rung, spare_of(rung, work)};
    const std::int64_t most = most_planes(course, work);
    const JobOutlook own = outlook_on(rung, work, most);
    return course.spare ? with_room_for(own, touched_outlook_on(*course.spare, work, most)) : own;
  }
  [[nodiscard]] static JobOutlook with_room_for(JobOutlook outlook, const JobOutlook& other) {
    outlook.input_planes = std::max(outlook.input_planes, other.input_planes);
    outlook.slab_planes = std::max(outlook.slab_planes, other.slab_planes);
    outlook.slabs = std::max(outlook.slabs, other.slabs);
    outlook.list_bytes = std::max(outlook.list_bytes, other.list_bytes);
    return outlook;
  }
  // That a job of so many patches takes of a batch on this rung, where others have some too; 0 where it must have it
  // for itself.
  [[nodiscard]] std::int64_t guest_places(std::size_t rung, std::int64_t patches) const {
    const GeometryChoice& choice = plan.ladder[rung].geometry;
    const bool is_shared = rungs[rung].on_cpu() && !choice.streamed && is_dense;
    return is_shared && patches < choice.S ? patches : 0;
  }
  // What a job holds of its volume, of its output and of its patches' list at a time, for a caller who holds no more of
  // them: tiny patches need few planes, but there may be billions of them.
  [[nodiscard]] std::int64_t held_bytes(const JobOutlook& outlook, const Work& work) const {
    const std::int64_t in = plane_bytes_of(f_in, work.input.n, work.input.type);
    const std::int64_t out = plane_bytes_of(f_out, outlook.output.n, work.output);
    const std::int64_t slabs = mul(mul(outlook.slabs, outlook.slab_planes), out);
    return add(outlook.list_bytes, add(mul(outlook.input_planes, in), slabs));
  }
  // The faster of two that hold no more than they may; else the one that holds less.
  [[nodiscard]] bool is_better(const JobOutlook& a, const JobOutlook& b, const Work& work) const {
    const std::int64_t a_holds = held_bytes(a, work);
    const std::int64_t b_holds = held_bytes(b, work);
    if (std::max(a_holds, b_holds) <= work.most_held) return a.predicted_seconds < b.predicted_seconds;
    return a_holds < b_holds;
  }
  // Returns what windows that are laid over an input, frame included, count where they overlap; nothing if it is
  // computed as it is: the network is not bound to its window, or that is the window.
  [[nodiscard]] std::optional<WindowWeight> blend_of(Vec3 n) const {
    const bool is_window = !is_bound || n == plan.ladder.front().geometry.pass_input;
    return is_window ? std::nullopt : std::optional(blend.weight);
  }
  [[nodiscard]] PatchGrid window_grid(Vec3 n) const {
    return make_window_grid(n - fov + Vec3::cube(1), rungs.front().geometry().patch_output, blend.overlap);
  }
  // Fails if a volume is smaller than the window along an axis along which the output is smaller than the volume, too:
  // it cannot stand in a window whose output is all of it.
  [[nodiscard]] Result<void> check_windows(Vec3 n) const {
    const Vec3 around = frame.begin + frame.end;
    const Vec3 window = plan.ladder.front().geometry.pass_input;
    for (int axis = 0; axis < 3; ++axis) {
      const bool loses = fov[axis] - around[axis] != 1;
      if (n[axis] > around[axis] && (!loses || n[axis] >= window[axis])) continue;
      return Error{ErrorCode::invalid_argument, "input extent is " + to_string(n - around) +
                                                    "; it must be at least the network's window, " +
                                                    to_string(window - around)};
    }
    return {};
  }
  // Returns how many windows lie over an output, per axis.
  [[nodiscard]] Vec3 windows_over(Vec3 output) const {
    const Vec3 window = rungs.front().geometry().patch_output;
    Vec3 count;
    for (int axis = 0; axis < 3; ++axis) count[axis] = window_count(output[axis], window[axis], blend.overlap);
    return count;
  }
  // Windows lie in one row at a time, side by side on all sockets. Makes no list of them: a volume may be of any
  // extent.
  [[nodiscard]] JobOutlook window_outlook(const Work& work) const {
    const Geometry& geometry = rungs.front().geometry();
    JobOutlook outlook;
    outlook.output = {1, f_out, work.input.n - fov + Vec3::cube(1)};
    const Vec3 windows = windows_over(outlook.output.n);
    const std::int64_t of_row = mul(windows.y, windows.x);
    outlook.most_held = work.most_held;
    outlook.patch = geometry.patch_input;
    outlook.patches = mul(windows.z, of_row);
    outlook.list_bytes =
        add(mul(outlook.patches, list_bytes_per_patch), Blender::bytes(outlook.output, geometry.patch_output));
    outlook.input_planes = geometry.patch_input.z;
    outlook.slab_planes = std::min(outlook.output.n.z, geometry.patch_output.z);  // of the last row, the largest
    const std::int64_t rounds = mul(windows.z, div_up(of_row, plan.sockets));
    outlook.predicted_seconds = static_cast<double>(rounds) * plan.ladder.front().seconds + seconds_to_touch(0);
    return outlook;
  }
  // On the rung that suits it best.
  [[nodiscard]] JobOutlook best_outlook(const Work& work) const {
    if (blend_of(work.input.n)) return window_outlook(work);
    std::optional<JobOutlook> best;
    for (const std::size_t rung : rungs_for(work.input.n)) {
      const JobOutlook other = outlook_on(rung, work);
      if (!best || is_better(other, *best, work)) best = other;
    }
    ensure(best.has_value(), "some rung takes the volume");
    return whole_outlook_on(best->rung, work);
  }
  // Returns the best outlook; fails if the input, frame included, does not fit the network.
  [[nodiscard]] Result<JobOutlook> outlook_of(const Work& work) const {
    const VolumeShape& input = work.input;
    if (input.f != f_in) {
      return Error{ErrorCode::invalid_argument,
                   "input has " + std::to_string(input.f) + " images; the network takes " + std::to_string(f_in)};
    }
    const Vec3 around = frame.begin + frame.end;
    if (is_bound) {
      if (Result<void> large = check_windows(input.n); !large) return large.error();
    } else if (!covers(input.n, fov)) {
      return Error{ErrorCode::invalid_argument, "input extent is " + to_string(input.n - around) +
                                                    "; it must be at least the field of view, " +
                                                    to_string(fov - around)};
    }
    if (Result<void> fits = check_volume(input.n - around); !fits && !is_bound) return fits.error();
    if (Result<void> checked = check_shape({1, std::max(f_in, f_out), input.n}); !checked) return checked.error();
    if (rungs_for(input.n).empty()) {
      return Error{ErrorCode::invalid_argument,
                   "input extent is " + to_string(input.n - around) +
                       "; the plan was made for volumes that are no larger than a patch along some axes: plan again, "
                       "with --volume of this extent or without"};
    }
    JobOutlook outlook = best_outlook(work);
    outlook.input_planes = std::min(outlook.input_planes, input.n.z - around.z);
    return outlook;
  }
};

}  // namespace znni
