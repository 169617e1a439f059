#include "server/pipeline/job_estimates.hpp"

#include <algorithm>
#include <string>

#include "planner/network/padding.hpp"
#include "planner/network/swap_axes.hpp"
#include "planner/network/tile_bound.hpp"
#include "planner/plan/throughput.hpp"
#include "primitives/core/refusals.hpp"
#include "server/pipeline/job/blender.hpp"

namespace znni {
namespace {

std::int64_t plane_bytes_of(std::int64_t f, Vec3 n, ElementType type) { return volume_bytes({f, {1, n.y, n.x}, type}); }

JobEstimate with_room_for(JobEstimate estimate, const JobEstimate& other) {
  estimate.input_planes = std::max(estimate.input_planes, other.input_planes);
  estimate.slab_planes = std::max(estimate.slab_planes, other.slab_planes);
  estimate.slabs = std::max(estimate.slabs, other.slabs);
  estimate.list_bytes = std::max(estimate.list_bytes, other.list_bytes);
  return estimate;
}

}  // namespace

NetworkShape network_shape(const Network& network) {
  NetworkShape facts;
  facts.fov = reaches(network).back().fov;
  facts.frame = network.frame;
  facts.is_dense = is_dense(network);
  facts.is_bound = is_tile_bound(network);
  facts.check_volume = [network](Vec3 volume) { return check_volume(network, volume); };
  facts.f_in = network.f_in;
  facts.f_out = channels_of(network).back();
  return facts;
}

VolumeShape NetworkShape::framed(VolumeShape input) const {
  input.n = input.n + frame.begin + frame.end;
  return input;
}

bool JobEstimates::takes(std::size_t rung, Vec3 n) const {
  const GeometryChoice& choice = rungs_[rung].rung->geometry;
  const Vec3 patch = swap_axes(choice.pass_input, choice.axis);
  return network_.is_bound || covers(patch, n * swap_axes(choice.closed, choice.axis));
}

bool JobEstimates::spans_z(std::size_t rung) const {
  const GeometryChoice& choice = rungs_[rung].rung->geometry;
  return !network_.is_bound && swap_axes(choice.closed, choice.axis).z != 0;
}

std::int64_t JobEstimates::input_plane_bytes(const Work& work) const {
  return plane_bytes_of(network_.f_in, work.input.n, work.input.type);
}

std::int64_t JobEstimates::output_plane_bytes(const Work& work) const {
  return plane_bytes_of(network_.f_out, network_.output(work.input.n), work.output);
}

std::int64_t JobEstimates::max_planes(const Course& course, const Work& work) const {
  if (work.max_held == saturated || network_.is_bound) return saturated;
  const auto most = [&course](const auto& of) {
    return course.fallback ? std::max(of(course.rung), of(*course.fallback)) : of(course.rung);
  };
  const std::int64_t in = input_plane_bytes(work);
  const std::int64_t both = add(in, output_plane_bytes(work));
  const std::int64_t beside = most([&](std::size_t rung) { return planes_beside_band(rung); });
  const auto planes_of = [&](std::int64_t bytes) {
    return std::max<std::int64_t>(1, (bytes - mul(beside, in)) / both);
  };
  const std::int64_t thickest = planes_of(work.max_held);
  const std::int64_t patches = most([&](std::size_t rung) {
    return patch_count(work.input.n, rungs_[rung].geometry, network_.fov, thickest, sockets_);
  });
  // Twice: the thinner bands that leave room for it have a few patches more.
  return planes_of(work.max_held - std::min(work.max_held, mul(2, mul(patches, list_bytes_per_patch))));
}

// Returns the extra input planes around a band: those before it and the rest of its last step. With a GPU those of the
// next two steps, too.
std::int64_t JobEstimates::planes_beside_band(std::size_t rung) const {
  const Geometry& geometry = rungs_[rung].geometry;
  if (!geometry.choice.streamed) return 0;
  const std::int64_t border = network_.fov.z - 1 + geometry.lead + geometry.patch_output.z;
  return rungs_[rung].on_cpu ? border : 2 * border + geometry.patch_output.z;
}

// Returns the planes of such an input that a rung wants at a time: a batch is under way on each socket, with a GPU
// three are.
std::int64_t JobEstimates::planes_held(std::size_t rung, Vec3 input, std::int64_t most) const {
  const Geometry& round = rungs_[rung].round;
  return rungs_[rung].on_cpu ? input_planes(input, round, network_.fov, most, sockets_)
                             : input_planes_ahead(input, round, network_.fov, most);
}

// Returns the time until the system has given a rung its pages: it clears one or two GiB of them in a second.
Seconds JobEstimates::seconds_to_touch(std::size_t rung) const {
  constexpr double bytes_per_second = 1U << 30U;
  return rung < first_touched_ ? static_cast<double>(rungs_[rung].bytes) / bytes_per_second : 0;
}

JobEstimate JobEstimates::on(std::size_t rung, const Work& work) const {
  return on(rung, work, max_planes({rung, {}}, work));
}

// Estimates a job on a rung. `most`: planes that may wait.
JobEstimate JobEstimates::on(std::size_t rung, const Work& work, std::int64_t most) const {
  JobEstimate estimate = touched_on(rung, work, most);
  estimate.predicted_seconds += seconds_to_touch(rung);
  return estimate;
}

// Estimates a job on a rung as if it had its pages.
JobEstimate JobEstimates::touched_on(std::size_t rung, const Work& work, std::int64_t most) const {
  const Vec3 n = work.input.n;
  const Geometry& geometry = rungs_[rung].geometry;
  const std::int64_t row = row_planes(n, geometry, network_.fov, most);
  JobEstimate estimate;
  estimate.output = {1, network_.f_out, network_.output(n)};
  estimate.max_held = work.max_held;
  estimate.rung = rung;
  estimate.patch = swap_axes(geometry.patch_input, geometry.choice.axis);
  estimate.patch.z = network_.fov.z - 1 + row;
  estimate.patches = patch_count(n, geometry, network_.fov, most, sockets_);
  estimate.batch = geometry.choice.S;
  estimate.entries = guest_entries(rung, estimate.patches);
  estimate.list_bytes = mul(estimate.patches, list_bytes_per_patch);
  estimate.input_planes = planes_held(rung, n, most);
  estimate.slab_planes = std::min(estimate.output.n.z, row);
  estimate.slabs = rows_of_batch(n, rungs_[rung].round, network_.fov);
  estimate.predicted_seconds = predicted(rung, n, most);
  return estimate;
}

Seconds JobEstimates::predicted(std::size_t rung, Vec3 n, std::int64_t most) const {
  const RungFacts& facts = rungs_[rung];
  const std::int64_t batches = batches_in_turn(n, facts.geometry, network_.fov, most, sockets_);
  const std::int64_t streams = streams_in_turn(n, facts.geometry, network_.fov, most, sockets_);
  return static_cast<double>(batches) * facts.rung->seconds -
         static_cast<double>(streams) * idle_seconds(*facts.rung, facts.geometry);
}

std::optional<std::size_t> JobEstimates::fallback_of(std::size_t rung, const Work& work) const {
  if (rungs_[rung].on_cpu) return std::nullopt;
  std::optional<JobEstimate> best;
  for (std::size_t i = 0; i < rungs_.size(); ++i) {
    if (!rungs_[i].on_cpu || !takes(i, work.input.n)) continue;
    const std::int64_t most = max_planes({rung, i}, work);
    const JobEstimate own = on(rung, work, most);
    JobEstimate both = with_room_for(touched_on(i, work, most), own);
    both.predicted_seconds += own.predicted_seconds;
    if (!best || is_better_behind(both, *best, work)) best = both;
  }
  return best ? std::optional(best->rung) : std::nullopt;
}

JobEstimate JobEstimates::with_fallback(std::size_t rung, const Work& work) const {
  const Course course{rung, fallback_of(rung, work)};
  const std::int64_t most = max_planes(course, work);
  const JobEstimate own = on(rung, work, most);
  return course.fallback ? with_room_for(own, touched_on(*course.fallback, work, most)) : own;
}

std::int64_t JobEstimates::guest_entries(std::size_t rung, std::int64_t patches) const {
  const GeometryChoice& choice = rungs_[rung].rung->geometry;
  const bool is_shared = rungs_[rung].on_cpu && !choice.streamed && network_.is_dense;
  return is_shared && patches < choice.S ? patches : 0;
}

std::int64_t JobEstimates::held_bytes(const JobEstimate& estimate, const Work& work) const {
  const std::int64_t slabs = mul(mul(estimate.slabs, estimate.slab_planes), output_plane_bytes(work));
  return add(estimate.list_bytes, add(mul(estimate.input_planes, input_plane_bytes(work)), slabs));
}

// Returns true if `a` is the faster of two that hold no more than they may, or else holds less.
bool JobEstimates::is_better(const JobEstimate& a, const JobEstimate& b, const Work& work) const {
  const std::int64_t a_holds = held_bytes(a, work);
  const std::int64_t b_holds = held_bytes(b, work);
  if (std::max(a_holds, b_holds) <= work.max_held) return a.predicted_seconds < b.predicted_seconds;
  return a_holds < b_holds;
}

// Returns true if `a` is the better fallback: one that may go on at any plane, then the better of two alike.
bool JobEstimates::is_better_behind(const JobEstimate& a, const JobEstimate& b, const Work& work) const {
  return spans_z(a.rung) == spans_z(b.rung) ? is_better(a, b, work) : spans_z(b.rung);
}

std::optional<WindowWeight> JobEstimates::blend_of(Vec3 n) const {
  const bool is_window = !network_.is_bound || n == rungs_.front().rung->geometry.pass_input;
  return is_window ? std::nullopt : std::optional(blend_.weight);
}

PatchGrid JobEstimates::window_grid(Vec3 n) const {
  return make_window_grid(network_.output(n), rungs_.front().geometry.patch_output, blend_.overlap);
}

// Fails if a volume is smaller than the window along an axis along which the output is smaller than the volume, too: it
// cannot stand in a window whose output is all of it.
Result<void> JobEstimates::check_windows(Vec3 n) const {
  const Vec3 around = network_.frame.begin + network_.frame.end;
  const Vec3 window = rungs_.front().rung->geometry.pass_input;
  for (int axis = 0; axis < 3; ++axis) {
    const bool loses = network_.fov[axis] - around[axis] != 1;
    if (n[axis] > around[axis] && (!loses || n[axis] >= window[axis])) continue;
    return invalid_argument("input extent is " + to_string(n - around) +
                            "; it must be at least the network's window, " + to_string(window - around));
  }
  return {};
}

// Returns how many windows lie over an output, per axis.
Vec3 JobEstimates::windows_over(Vec3 output) const {
  const Vec3 window = rungs_.front().geometry.patch_output;
  Vec3 count;
  for (int axis = 0; axis < 3; ++axis) count[axis] = window_count(output[axis], window[axis], blend_.overlap);
  return count;
}

// Estimates a job over windows, which lie in one row at a time, side by side on all sockets. Makes no list of them: a
// volume may be of any extent.
JobEstimate JobEstimates::over_windows(const Work& work) const {
  const Geometry& geometry = rungs_.front().geometry;
  JobEstimate estimate;
  estimate.output = {1, network_.f_out, network_.output(work.input.n)};
  const Vec3 windows = windows_over(estimate.output.n);
  const std::int64_t of_row = mul(windows.y, windows.x);
  estimate.max_held = work.max_held;
  estimate.patch = geometry.patch_input;
  estimate.patches = mul(windows.z, of_row);
  estimate.list_bytes =
      add(mul(estimate.patches, list_bytes_per_patch), Blender::bytes(estimate.output, geometry.patch_output));
  estimate.input_planes = geometry.patch_input.z;
  estimate.slab_planes = std::min(estimate.output.n.z, geometry.patch_output.z);  // of the last row, the largest
  const std::int64_t rounds = mul(windows.z, div_up(of_row, sockets_));
  estimate.predicted_seconds = static_cast<double>(rounds) * rungs_.front().rung->seconds + seconds_to_touch(0);
  return estimate;
}

JobEstimate JobEstimates::best_of_sound(const Work& work, std::span<const std::size_t> now) const {
  if (blend_of(work.input.n)) return over_windows(work);
  std::optional<JobEstimate> best;
  for (const std::size_t rung : now) {
    if (!takes(rung, work.input.n)) continue;
    const JobEstimate other = on(rung, work);
    if (!best || is_better(other, *best, work)) best = other;
  }
  ensure(best.has_value(), "some rung takes the volume");
  return with_fallback(best->rung, work);
}

// Fails if the input does not fit the network.
Result<void> JobEstimates::check(const VolumeShape& input) const {
  if (input.f != network_.f_in) {
    return invalid_argument("input has " + std::to_string(input.f) + " channels; the network takes " +
                            std::to_string(network_.f_in));
  }
  const Vec3 around = network_.frame.begin + network_.frame.end;
  if (network_.is_bound) {
    if (Result<void> large = check_windows(input.n); !large) return large;
  } else if (!covers(input.n, network_.fov)) {
    return invalid_argument("input extent is " + to_string(input.n - around) +
                            "; it must be at least the field of view, " + to_string(network_.fov - around));
  }
  if (Result<void> fits = network_.check_volume(input.n - around); !fits && !network_.is_bound) return fits;
  return check_shape({1, std::max(network_.f_in, network_.f_out), input.n});
}

Result<JobEstimate> JobEstimates::best(const Work& work, std::span<const std::size_t> now) const {
  const VolumeShape& input = work.input;
  if (Result<void> fits = check(input); !fits) return fits.error();
  const Vec3 around = network_.frame.begin + network_.frame.end;
  if (std::none_of(now.begin(), now.end(), [&](std::size_t rung) { return takes(rung, input.n); })) {
    return invalid_argument(
        "input extent is " + to_string(input.n - around) +
        "; the plan was made for volumes that are no larger than a patch along some axes: plan again, with "
        "--volume of this extent or without");
  }
  JobEstimate estimate = best_of_sound(work, now);
  estimate.input_planes = std::min(estimate.input_planes, input.n.z - around.z);
  return estimate;
}

}  // namespace znni
