#include "primitives/cpu/fft_tiled/tile_bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/fft_tiled/tile_choice.hpp"
#include "primitives/cpu/fft_tiled/tile_model.hpp"

namespace znni::cpu::fft_tiled {
namespace {

// Sums are added up in another order than those of the model.
constexpr double rounding = 1e-9;

double real(std::int64_t value) { return static_cast<double>(value); }

double log_of(std::int64_t extent) {
  static const std::vector<double> known = [] {
    std::vector<double> logarithms(static_cast<std::size_t>(tile_extents().back()) + 1);
    for (std::size_t n = 1; n < logarithms.size(); ++n) logarithms[n] = std::log2(static_cast<double>(n));
    return logarithms;
  }();
  return known[static_cast<std::size_t>(extent)];
}

// Tiles of one extent T along one axis.
struct AxisTiles {
  double points = 0;   // of all tiles: T per tile
  double logs = 0;     // the same, times log2 T
  double batches = 0;  // points over the most tiles of a batch, if no tile stood beside another
};

// Returns how many stacks a batch's number of stacks is rounded up to: groups, where units may be packed.
std::int64_t group_of(const ConvProblem& problem, std::int64_t lanes) {
  if (lanes != 16) return 1;
  const auto has_units = [&](std::int64_t channels) { return split_channels(channels, lanes, true).units > 0; };
  return has_units(problem.in.f) || has_units(problem.f_out) ? lanes / unit_lanes : 1;
}

std::vector<AxisTiles> tiles_along(const ConvProblem& problem, int axis, std::int64_t group) {
  const std::int64_t out = problem.in.n[axis] - problem.k[axis] + 1;
  std::vector<AxisTiles> all;
  all.reserve(tile_extents().size());
  for (const std::int64_t extent : extents_along(problem, axis)) {
    const std::int64_t tiles = div_up(out, extent - problem.k[axis] + 1);
    const double points = real(tiles * extent);
    all.push_back({points, points * log_of(extent), points / real(max_tiles_per_batch(tiles * group))});
  }
  return all;
}

double min_points(const std::vector<AxisTiles>& tiles) {
  double least = std::numeric_limits<double>::infinity();
  for (const AxisTiles& each : tiles) least = std::min(least, each.points);
  return least;
}

}  // namespace

// Returns a lower bound of TileModel's time. With A = T ceil(n_out / m), the points of all tiles along an axis, and L =
// A log2 T, TileModel has these terms for S inputs. Columns are T.y T.x / 2 + 2.
//   products    6 operations for each of T.z columns frequencies of a tile, and 28 for each of a batch. (8 for each of
//               a tile are chosen if they are fewer than that for a batch, so they are more than for the largest
//               batch.)
//   transforms  of planes, at least n.z of the input and n_out.z of the output: 2 T.y T.x (log2 T.x + log2 T.y) each
//               of lines along z: columns 4 T.z log2 T.z per tile, for channels read and written
//   bytes       8 columns for each of these planes twice, the kernels' spectra for every batch, and the tensors
// All extents that plans may have are tried for the least operations, and for the least bytes by themselves; what else
// a plan has is left out. So no plan has less of either, and time rises with both.
Seconds min_tile_seconds(const ConvProblem& layer, std::int64_t lanes, const DeviceSpec& spec) {
  const ConvProblem problem = phase_problem(layer, phases_of(layer));
  const std::int64_t group = group_of(problem, lanes);
  const std::vector<AxisTiles> along_z = tiles_along(problem, 0, group);
  const std::vector<AxisTiles> along_y = tiles_along(problem, 1, group);
  const std::vector<AxisTiles> along_x = tiles_along(problem, 2, group);
  const double S = real(problem.in.S);
  // Packed units fill most lanes; tensors have all.
  const std::int64_t filled = lanes == 16 ? unit_lanes : lanes;
  const double in = real(round_up(problem.in.f, filled));
  const double out = real(round_up(problem.f_out, filled));
  const double read = real(round_up(problem.in.f, lanes));
  const double pairs = real(problem.in.f) * out;
  const Vec3 n_out = problem.in.n - problem.k + Vec3::cube(1);
  const double planes = in * real(problem.in.n.z) + out * real(n_out.z);
  TileWork least;
  double operations = std::numeric_limits<double>::infinity();
  double kernels = std::numeric_limits<double>::infinity();
  for (const AxisTiles& z : along_z) {
    const double products = S * pairs * (3.0 * z.points + 14.0 * z.batches);
    const double lines = 2.0 * S * (in + out) * z.logs;
    kernels = std::min(kernels, 4.0 * S * pairs * z.batches);
    for (const AxisTiles& y : along_y) {
      for (const AxisTiles& x : along_x) {
        const double plane = 2.0 * S * planes * (y.points * x.logs + y.logs * x.points);
        const double area = y.points * x.points;
        const TileWork work{area * products, area * lines + plane, 0, 0};
        if (work.operations() >= operations) continue;
        operations = work.operations();
        least = work;
      }
    }
  }
  // Batches of a worker's own, which kernels of one tap along z have, move only the tensors.
  const double area = layer.k.z == 1 ? 0.0 : min_points(along_y) * min_points(along_x);
  const double written = S * real(round_up(problem.f_out, lanes)) * real(voxels(n_out));
  least.finishing = written * late_activation_flops(problem.activation, spec);
  least.bytes = area * (8.0 * S * planes + kernels) + 4.0 * S * read * real(voxels(problem.in.n)) +
                (problem.residual ? 8.0 : 4.0) * written;
  return (1 - rounding) * least.seconds(spec.flops_per_second, spec.bytes_per_second);
}

}  // namespace znni::cpu::fft_tiled
