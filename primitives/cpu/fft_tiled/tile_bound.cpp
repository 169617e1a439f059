#include "primitives/cpu/fft_tiled/tile_bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/fft_tiled/tile_model.hpp"
#include "primitives/cpu/fft_tiled/tiling.hpp"

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

// The least over all extents of tiles along one axis; the two need not be those of the same extent.
struct AxisLeast {
  double points = std::numeric_limits<double>::infinity();  // of all tiles
  double logs = std::numeric_limits<double>::infinity();    // the same, times the logarithm of the extent
};

AxisLeast least_along(const ConvProblem& problem, int axis) {
  const std::int64_t out = problem.in.n[axis] - problem.k[axis] + 1;
  if (axis == 0 && problem.k.z == 1) return {real(out), 0};  // may stay untransformed
  AxisLeast least;
  for (const std::int64_t extent : tile_extents()) {
    if (extent < problem.k[axis]) continue;
    const double points = real(extent * div_up(out, extent - problem.k[axis] + 1));
    least.points = std::min(least.points, points);
    least.logs = std::min(least.logs, points * log_of(extent));
  }
  return least;
}

}  // namespace

// Let A be the points of all tiles along an axis, T ceil(n_out / m), L = A log2 T. TileModel has, for S inputs, terms
//   products    at least 6 operations of each tile's T.z columns frequencies, columns being T.y T.x / 2 + 2
//   transforms  of planes, at least n.z of the input and n_out.z of the output: 2 T.y T.x (log2 T.x + log2 T.y) each
//               of lines along z: columns 4 T.z log2 T.z per tile, for channels read and written
//   bytes       8 columns for each of these planes twice, and the tensors
// which are sums of products of A and L of different axes. With the least A and the least L of each axis in place of
// those of one extent, no term is larger than that of any plan; what else a plan has is left out. The time rises with
// both operations and bytes.
Seconds min_tile_seconds(const ConvProblem& problem, std::int64_t lanes, const DeviceSpec& spec) {
  const AxisLeast z = least_along(problem, 0);
  const AxisLeast y = least_along(problem, 1);
  const AxisLeast x = least_along(problem, 2);
  const Vec3 n_out = problem.in.n - problem.k + Vec3::cube(1);
  const double S = real(problem.in.S);
  const double in = real(round_up(problem.in.f, lanes));
  const double out = real(round_up(problem.f_out, lanes));
  const double planes = in * real(problem.in.n.z) + out * real(n_out.z);
  const double written = S * out * real(voxels(n_out));
  TileWork least;
  least.products = 3.0 * S * z.points * y.points * x.points * real(problem.in.f) * out;
  least.transforms = 2.0 * S * ((y.points * x.logs + y.logs * x.points) * planes +
                                z.logs * y.points * x.points * (in + out));
  least.finishing = written * late_activation_flops(problem.activation, spec);
  least.bytes = 8.0 * S * y.points * x.points * planes + 4.0 * S * in * real(voxels(problem.in.n)) +
                (problem.residual ? 8.0 : 4.0) * written;
  return (1 - rounding) * least.seconds(spec.flops_per_second, spec.bytes_per_second);
}

}  // namespace znni::cpu::fft_tiled
