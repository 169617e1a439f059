#include "planner/plan/throughput.hpp"

#include <algorithm>

#include "planner/geometry/patch_grid.hpp"

namespace znni {
namespace {

constexpr double float_bytes = 4;
constexpr double copies = 2;            // a read and a write
constexpr double scattered_copies = 4;  // a read, and writes that share their cache lines with other fragments
constexpr double history_copies = 4;    // a read and a write, before the new planes are read and after

// Returns the floats that a streamed net keeps from step to step.
double kept_floats(const Geometry& geometry) {
  double sum = 0;
  for (int value = 0; value < static_cast<int>(geometry.values.size()); ++value) {
    sum += static_cast<double>(history_bytes(geometry, value, Format{})) / float_bytes;
  }
  return sum;
}

}  // namespace

Seconds copy_seconds(const Network& network, const Geometry& geometry, const DeviceSpec& spec) {
  const auto read = static_cast<double>(elements(geometry.values.front())) * static_cast<double>(geometry.windows);
  const auto channels_out = static_cast<double>(geometry.values.back().f);
  const double written = static_cast<double>(written_voxels(geometry)) * channels_out;
  const bool scattered = voxels(reaches(network).back().stride) > 1;
  const double moved =
      copies * read + (scattered ? scattered_copies : copies) * written + history_copies * kept_floats(geometry);
  return moved * float_bytes / spec.bytes_per_second;
}

Seconds history_seconds(std::int64_t bytes, const DeviceSpec& spec) {
  return history_copies * static_cast<double>(bytes) / spec.bytes_per_second;
}

Seconds idle_seconds(const Rung& rung, const Geometry& geometry) {
  if (!geometry.choice.streamed || !on_cpu(rung)) return 0;
  Seconds sum = 0;
  for (const Step& step : rung.segments.front().steps) {
    if (step.node < 0) continue;
    const std::int64_t idle = std::max<std::int64_t>(0, geometry.histories.idle[static_cast<std::size_t>(step.node)]);
    const std::int64_t steps = idle / geometry.choice.pass_input.z;
    sum += static_cast<double>(mul(steps, runs_of(geometry, step.node))) * step.seconds;
  }
  return sum;
}

double useful_voxels(const Geometry& geometry, Vec3 fov, const std::optional<Vec3>& volume) {
  if (!volume) return static_cast<double>(written_voxels(geometry));
  const std::int64_t patches = patch_count(*volume, geometry, fov);
  const auto runs = static_cast<double>(div_up(patches, geometry.choice.S));
  return static_cast<double>(voxels(*volume - fov + Vec3::cube(1))) / runs;
}

double endless_rate(const Geometry& geometry, Seconds seconds) {
  return static_cast<double>(written_voxels(geometry)) / seconds;
}

double border_cost(const Network& network, const Geometry& geometry) {
  const std::vector<Reach> reach = reaches(network);
  const auto dense = static_cast<double>(voxels(geometry.patch_output)) * static_cast<double>(geometry.choice.S);
  double computed = 0;
  double needed = 0;
  for (std::size_t node = 0; node < geometry.problems.size(); ++node) {
    const Shape5 out = output_shape(geometry.problems[node]);
    const double flops = direct_flops(geometry.problems[node]);
    const std::int64_t fragments = out.S / geometry.choice.S;
    const auto positions = static_cast<double>(out.S) * static_cast<double>(voxels(out.n));
    const auto stride = static_cast<double>(voxels(reach[node + 1].stride));
    const bool in_slabs = static_cast<int>(node) <= geometry.stem.last;
    const auto runs = static_cast<double>(geometry.runs[node]);
    const double slabs = in_slabs ? static_cast<double>(geometry.stem.begins.size()) : 1;
    computed += runs * flops;
    needed += flops / positions * dense * runs / slabs * static_cast<double>(fragments) / stride;
  }
  return needed > 0 ? std::max(1.0, computed / needed) : 1.0;
}

}  // namespace znni
