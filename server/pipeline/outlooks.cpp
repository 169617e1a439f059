#include "server/pipeline/outlooks.hpp"

#include <algorithm>
#include <string>

#include "planner/network/exchange.hpp"
#include "planner/network/padding.hpp"
#include "planner/network/tile_bound.hpp"
#include "planner/plan/throughput.hpp"
#include "primitives/core/refusals.hpp"
#include "server/pipeline/blender.hpp"

namespace znni {
namespace {

std::int64_t plane_bytes_of(std::int64_t f, Vec3 n, ElementType type) { return volume_bytes({f, {1, n.y, n.x}, type}); }

JobOutlook with_room_for(JobOutlook outlook, const JobOutlook& other) {
  outlook.input_planes = std::max(outlook.input_planes, other.input_planes);
  outlook.slab_planes = std::max(outlook.slab_planes, other.slab_planes);
  outlook.slabs = std::max(outlook.slabs, other.slabs);
  outlook.list_bytes = std::max(outlook.list_bytes, other.list_bytes);
  return outlook;
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
  facts.f_out = images(network).back();
  return facts;
}

VolumeShape NetworkShape::framed(VolumeShape input) const {
  input.n = input.n + frame.begin + frame.end;
  return input;
}

bool Outlooks::takes(std::size_t rung, Vec3 n) const {
  const GeometryChoice& choice = rungs_[rung].rung->geometry;
  const Vec3 patch = exchanged(choice.pass_input, choice.axis);
  return network_.is_bound || covers(patch, n * exchanged(choice.closed, choice.axis));
}

std::int64_t Outlooks::input_plane_bytes(const Work& work) const {
  return plane_bytes_of(network_.f_in, work.input.n, work.input.type);
}

std::int64_t Outlooks::output_plane_bytes(const Work& work) const {
  return plane_bytes_of(network_.f_out, network_.output(work.input.n), work.output);
}

std::int64_t Outlooks::max_planes(const Course& course, const Work& work) const {
  if (work.max_held == saturated || network_.is_bound) return saturated;
  const auto most = [&course](const auto& of) {
    return course.spare ? std::max(of(course.rung), of(*course.spare)) : of(course.rung);
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
std::int64_t Outlooks::planes_beside_band(std::size_t rung) const {
  const Geometry& geometry = rungs_[rung].geometry;
  if (!geometry.choice.streamed) return 0;
  const std::int64_t border = network_.fov.z - 1 + geometry.lead + geometry.patch_output.z;
  return rungs_[rung].on_cpu ? border : 2 * border + geometry.patch_output.z;
}

// Planes of such an input that a rung wants at a time: a batch is under way on each socket, with a GPU three are.
std::int64_t Outlooks::planes_held(std::size_t rung, Vec3 input, std::int64_t most) const {
  const Geometry& round = rungs_[rung].round;
  return rungs_[rung].on_cpu ? input_planes(input, round, network_.fov, most, sockets_)
                             : input_planes_ahead(input, round, network_.fov, most);
}

// Until the system has given a rung its pages: it clears one or two GiB of them in a second.
Seconds Outlooks::seconds_to_touch(std::size_t rung) const {
  constexpr double bytes_per_second = 1U << 30U;
  return rung < first_touched_ ? static_cast<double>(rungs_[rung].bytes) / bytes_per_second : 0;
}

JobOutlook Outlooks::on(std::size_t rung, const Work& work) const {
  return on(rung, work, max_planes({rung, {}}, work));
}

// `most`: planes that may wait.
JobOutlook Outlooks::on(std::size_t rung, const Work& work, std::int64_t most) const {
  JobOutlook outlook = touched_on(rung, work, most);
  outlook.predicted_seconds += seconds_to_touch(rung);
  return outlook;
}

// As if it had its pages.
JobOutlook Outlooks::touched_on(std::size_t rung, const Work& work, std::int64_t most) const {
  const Vec3 n = work.input.n;
  const Geometry& geometry = rungs_[rung].geometry;
  const std::int64_t row = row_planes(n, geometry, network_.fov, most);
  JobOutlook outlook;
  outlook.output = {1, network_.f_out, network_.output(n)};
  outlook.max_held = work.max_held;
  outlook.rung = rung;
  outlook.patch = exchanged(geometry.patch_input, geometry.choice.axis);
  outlook.patch.z = network_.fov.z - 1 + row;
  outlook.patches = patch_count(n, geometry, network_.fov, most, sockets_);
  outlook.batch = geometry.choice.S;
  outlook.places = guest_places(rung, outlook.patches);
  outlook.list_bytes = mul(outlook.patches, list_bytes_per_patch);
  outlook.input_planes = planes_held(rung, n, most);
  outlook.slab_planes = std::min(outlook.output.n.z, row);
  outlook.slabs = rows_of_batch(n, rungs_[rung].round, network_.fov);
  outlook.predicted_seconds = predicted(rung, n, most);
  return outlook;
}

Seconds Outlooks::predicted(std::size_t rung, Vec3 n, std::int64_t most) const {
  const RungFacts& facts = rungs_[rung];
  const std::int64_t batches = batches_in_turn(n, facts.geometry, network_.fov, most, sockets_);
  const std::int64_t streams = streams_in_turn(n, facts.geometry, network_.fov, most, sockets_);
  return static_cast<double>(batches) * facts.rung->seconds -
         static_cast<double>(streams) * idle_seconds(*facts.rung, facts.geometry);
}

std::optional<std::size_t> Outlooks::spare_of(std::size_t rung, const Work& work) const {
  if (rungs_[rung].on_cpu) return std::nullopt;
  std::optional<JobOutlook> best;
  for (std::size_t i = 0; i < rungs_.size(); ++i) {
    if (!rungs_[i].on_cpu || !takes(i, work.input.n)) continue;
    const std::int64_t most = max_planes({rung, i}, work);
    const JobOutlook own = on(rung, work, most);
    JobOutlook both = with_room_for(touched_on(i, work, most), own);
    both.predicted_seconds += own.predicted_seconds;
    if (!best || is_better(both, *best, work)) best = both;
  }
  return best ? std::optional(best->rung) : std::nullopt;
}

JobOutlook Outlooks::with_spare(std::size_t rung, const Work& work) const {
  const Course course{rung, spare_of(rung, work)};
  const std::int64_t most = max_planes(course, work);
  const JobOutlook own = on(rung, work, most);
  return course.spare ? with_room_for(own, touched_on(*course.spare, work, most)) : own;
}

std::int64_t Outlooks::guest_places(std::size_t rung, std::int64_t patches) const {
  const GeometryChoice& choice = rungs_[rung].rung->geometry;
  const bool is_shared = rungs_[rung].on_cpu && !choice.streamed && network_.is_dense;
  return is_shared && patches < choice.S ? patches : 0;
}

std::int64_t Outlooks::held_bytes(const JobOutlook& outlook, const Work& work) const {
  const std::int64_t slabs = mul(mul(outlook.slabs, outlook.slab_planes), output_plane_bytes(work));
  return add(outlook.list_bytes, add(mul(outlook.input_planes, input_plane_bytes(work)), slabs));
}

// The faster of two that hold no more than they may; else the one that holds less.
bool Outlooks::is_better(const JobOutlook& a, const JobOutlook& b, const Work& work) const {
  const std::int64_t a_holds = held_bytes(a, work);
  const std::int64_t b_holds = held_bytes(b, work);
  if (std::max(a_holds, b_holds) <= work.max_held) return a.predicted_seconds < b.predicted_seconds;
  return a_holds < b_holds;
}

std::optional<WindowWeight> Outlooks::blend_of(Vec3 n) const {
  const bool is_window = !network_.is_bound || n == rungs_.front().rung->geometry.pass_input;
  return is_window ? std::nullopt : std::optional(blend_.weight);
}

PatchGrid Outlooks::window_grid(Vec3 n) const {
  return make_window_grid(network_.output(n), rungs_.front().geometry.patch_output, blend_.overlap);
}

// Fails if a volume is smaller than the window along an axis along which the output is smaller than the volume, too: it
// cannot stand in a window whose output is all of it.
Result<void> Outlooks::check_windows(Vec3 n) const {
  const Vec3 around = network_.frame.begin + network_.frame.end;
  const Vec3 window = rungs_.front().rung->geometry.pass_input;
  for (int axis = 0; axis < 3; ++axis) {
    const bool loses = network_.fov[axis] - around[axis] != 1;
    if (n[axis] > around[axis] && (!loses || n[axis] >= window[axis])) continue;
    return unfit("input extent is " + to_string(n - around) + "; it must be at least the network's window, " +
                 to_string(window - around));
  }
  return {};
}

// Returns how many windows lie over an output, per axis.
Vec3 Outlooks::windows_over(Vec3 output) const {
  const Vec3 window = rungs_.front().geometry.patch_output;
  Vec3 count;
  for (int axis = 0; axis < 3; ++axis) count[axis] = window_count(output[axis], window[axis], blend_.overlap);
  return count;
}

// Windows lie in one row at a time, side by side on all sockets. Makes no list of them: a volume may be of any extent.
JobOutlook Outlooks::over_windows(const Work& work) const {
  const Geometry& geometry = rungs_.front().geometry;
  JobOutlook outlook;
  outlook.output = {1, network_.f_out, network_.output(work.input.n)};
  const Vec3 windows = windows_over(outlook.output.n);
  const std::int64_t of_row = mul(windows.y, windows.x);
  outlook.max_held = work.max_held;
  outlook.patch = geometry.patch_input;
  outlook.patches = mul(windows.z, of_row);
  outlook.list_bytes =
      add(mul(outlook.patches, list_bytes_per_patch), Blender::bytes(outlook.output, geometry.patch_output));
  outlook.input_planes = geometry.patch_input.z;
  outlook.slab_planes = std::min(outlook.output.n.z, geometry.patch_output.z);  // of the last row, the largest
  const std::int64_t rounds = mul(windows.z, div_up(of_row, sockets_));
  outlook.predicted_seconds = static_cast<double>(rounds) * rungs_.front().rung->seconds + seconds_to_touch(0);
  return outlook;
}

JobOutlook Outlooks::best_of_sound(const Work& work, std::span<const std::size_t> now) const {
  if (blend_of(work.input.n)) return over_windows(work);
  std::optional<JobOutlook> best;
  for (const std::size_t rung : now) {
    if (!takes(rung, work.input.n)) continue;
    const JobOutlook other = on(rung, work);
    if (!best || is_better(other, *best, work)) best = other;
  }
  ensure(best.has_value(), "some rung takes the volume");
  return with_spare(best->rung, work);
}

// Fails if the input does not fit the network.
Result<void> Outlooks::check(const VolumeShape& input) const {
  if (input.f != network_.f_in) {
    return unfit("input has " + std::to_string(input.f) + " images; the network takes " +
                 std::to_string(network_.f_in));
  }
  const Vec3 around = network_.frame.begin + network_.frame.end;
  if (network_.is_bound) {
    if (Result<void> large = check_windows(input.n); !large) return large;
  } else if (!covers(input.n, network_.fov)) {
    return unfit("input extent is " + to_string(input.n - around) + "; it must be at least the field of view, " +
                 to_string(network_.fov - around));
  }
  if (Result<void> fits = network_.check_volume(input.n - around); !fits && !network_.is_bound) return fits;
  return check_shape({1, std::max(network_.f_in, network_.f_out), input.n});
}

Result<JobOutlook> Outlooks::best(const Work& work, std::span<const std::size_t> now) const {
  const VolumeShape& input = work.input;
  if (Result<void> fits = check(input); !fits) return fits.error();
  const Vec3 around = network_.frame.begin + network_.frame.end;
  if (std::none_of(now.begin(), now.end(), [&](std::size_t rung) { return takes(rung, input.n); })) {
    return unfit("input extent is " + to_string(input.n - around) +
                 "; the plan was made for volumes that are no larger than a patch along some axes: plan again, with "
                 "--volume of this extent or without");
  }
  JobOutlook outlook = best_of_sound(work, now);
  outlook.input_planes = std::min(outlook.input_planes, input.n.z - around.z);
  return outlook;
}

}  // namespace znni
