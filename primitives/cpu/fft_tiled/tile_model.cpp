#include "primitives/cpu/fft_tiled/tile_model.hpp"

#include <algorithm>
#include <cmath>

namespace znni::cpu::fft_tiled {
namespace {

// Fractions of the peak rate.
constexpr double product_efficiency = 0.85;
constexpr double transform_efficiency = 0.25;
// What preparing a kernel spectrum for three products costs, measured.
constexpr double operations_of_preparing = 28.0;

// Of one frequency and one pair of images, all tiles of a batch.
double product_operations(const Tiling& t, Products products) {
  const auto rows = static_cast<double>(round_up(t.tiles_per_batch(), 2));
  return products == Products::three ? 6.0 * rows + operations_of_preparing : 8.0 * rows;
}

double transform_flops(double extent) { return extent <= 1 ? 0 : 4.0 * extent * std::log2(extent); }

}  // namespace

Products cheaper_products(const Tiling& tiling) {
  const double three = product_operations(tiling, Products::three);
  return product_operations(tiling, Products::four) < three ? Products::four : Products::three;
}

Seconds tile_seconds(const TilePlan& plan, const DeviceSpec& spec) {
  const Tiling& t = plan.tiling;
  const auto real = [](std::int64_t value) { return static_cast<double>(value); };
  const double lanes = real(t.lanes);
  const double columns = real(t.columns());
  const double in = real(t.in_blocks()) * lanes;
  const double out = real(t.out_blocks()) * lanes;
  const double stacks = real(t.stacks());
  const double tiles = stacks * real(t.tiles().z);
  // A plane: half the lines along x are worth a complex one each, then one along y for each kx.
  const double plane =
      0.5 * real(t.T.y) * transform_flops(real(t.T.x)) + columns / real(t.T.y) * transform_flops(real(t.T.y));
  const double lines = columns * transform_flops(real(t.T.z));
  double transforms = stacks * plane * (in * real(t.planes()) + out * real(t.n_out().z)) + tiles * lines * (in + out);
  const double pairs = real(t.problem.in.f) * out;
  const double frequencies = columns * real(t.T.z);
  const double products = real(t.batches()) * product_operations(t, plan.products) * frequencies * pairs;
  const double kernel_bytes = 8.0 * frequencies * pairs;
  double bytes = real(t.batches()) * kernel_bytes +
                 8.0 * columns * stacks * (2.0 * in * real(t.planes()) + 2.0 * out * real(t.n_out().z)) +
                 4.0 * real(t.problem.in.S) * (in * real(voxels(t.problem.in.n)) + out * real(voxels(t.n_out())));
  if (t.problem.residual) bytes += 4.0 * real(t.problem.in.S) * out * real(voxels(t.n_out()));
  if (!plan.keep_spectra) {
    transforms += pairs * (real(t.problem.k.z) * plane + lines);
    bytes += kernel_bytes;
  }
  const double arithmetic = products / (product_efficiency * spec.flops_per_second) +
                            transforms / (transform_efficiency * spec.flops_per_second);
  return 5e-5 + std::max(arithmetic, bytes / spec.bytes_per_second) +
         0.3 * std::min(arithmetic, bytes / spec.bytes_per_second);
}

}  // namespace znni::cpu::fft_tiled
