#include "primitives/cpu/fft_tiled/tile_model.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "primitives/cpu/device/estimates.hpp"

namespace znni::cpu::fft_tiled {
namespace {

// Fractions of the peak rate.
constexpr double product_efficiency = 0.85;
constexpr double transform_efficiency = 0.25;
// Time that any layer takes, however small, to wake the workers and wait for them.
constexpr Seconds seconds_of_starting = 5e-5;
// The part of the shorter of computing and moving bytes that does not hide behind the longer. 0 would be a roofline, in
// which the two overlap completely; 1 would be their sum.
constexpr double share_in_the_open = 0.3;
// Measured cost of preparing a kernel spectrum for three products.
constexpr double operations_of_preparing = 28.0;

// Returns the operations of one frequency and one pair of channels, for all tiles of a batch.
double product_operations(std::int64_t tiles, Products products) {
  const auto rows = static_cast<double>(round_up(tiles, 2));
  return products == Products::three ? 6.0 * rows + operations_of_preparing : 8.0 * rows;
}

// Returns the operations of a complex transform; 0 for an axis that is not transformed.
double transform_flops(std::int64_t extent) {
  static const std::vector<double> known = [] {
    std::vector<double> flops;
    for (std::int64_t n = 0; n <= tile_extents().back(); ++n) {
      const auto points = static_cast<double>(n);
      flops.push_back(n <= 1 ? 0 : 4.0 * points * std::log2(points));
    }
    return flops;
  }();
  return known[static_cast<std::size_t>(extent)];
}

double real(std::int64_t value) { return static_cast<double>(value); }

}  // namespace

Products cheaper_products(std::int64_t tiles_per_batch) {
  const double three = product_operations(tiles_per_batch, Products::three);
  return product_operations(tiles_per_batch, Products::four) < three ? Products::four : Products::three;
}

double TileWork::operations() const {
  return products * (1 / product_efficiency) + transforms * (1 / transform_efficiency);
}

Seconds TileWork::seconds(double flops_per_second, double bytes_per_second) const {
  const double arithmetic = products / (product_efficiency * flops_per_second) +
                            transforms / (transform_efficiency * flops_per_second) + finishing / flops_per_second;
  const double moving = bytes / bytes_per_second;
  return seconds_of_starting + std::max(arithmetic, moving) + share_in_the_open * std::min(arithmetic, moving);
}

TileModel::TileModel(const Tiling& t, const DeviceSpec& spec)
    : flops_per_second_(spec.flops_per_second), bytes_per_second_(spec.bytes_per_second), group_(t.group()) {
  const Vec3 grid = t.tiles();
  const double columns = real(t.columns());
  const double in = real(t.in_lanes());
  const double out = real(t.out_lanes());
  const double read = real(round_up(t.problem.in.f, t.lanes));
  const double written = real(round_up(t.problem.f_out, t.lanes));
  stacks_ = mul(mul(t.problem.in.S, grid.y), grid.x);
  tiles_z_ = grid.z;
  const double stacks = real(stacks_);
  const double tiles = stacks * real(grid.z);
  // A plane: half the lines along x count as a complex line each, then one along y for each kx.
  const double plane = 0.5 * real(t.T.y) * transform_flops(t.T.x) + columns / real(t.T.y) * transform_flops(t.T.y);
  const double lines = columns * transform_flops(t.T.z);
  const double planes = real((grid.z - 1) * t.m().z + t.T.z);
  const Vec3 n_out = t.n_out();
  transforms_ = stacks * plane * (in * planes + out * real(n_out.z)) + tiles * lines * (in + out);
  // Vectors of packed units are transformed whole, also where the last group lacks stacks.
  const double lacking = real(round_up(stacks_, group_) - stacks_);
  const double in_units = real(t.in_units() * unit_lanes);
  const double out_units = real(t.out_units() * unit_lanes);
  transforms_ += lacking * (plane * (in_units * planes + out_units * real(n_out.z)) +
                            real(grid.z) * lines * (in_units + out_units));
  // In a blocked output, padding channels pass through the activation, too.
  finishing_ = real(t.problem.in.S) * written * real(voxels(n_out)) * late_activation_flops(t.problem.activation, spec);
  const double kernels = real(t.problem.in.f) * out;
  // Slabs of packed products hold whole blocks and units of the input.
  pairs_ = t.packs ? in * out : kernels;
  kernel_transforms_ = kernels * (real(t.problem.k.z) * plane + lines);
  frequencies_ = columns * real(t.T.z);
  kernel_bytes_ = 8.0 * frequencies_ * kernels;
  spectra_bytes_ = 8.0 * columns * stacks * (2.0 * in * planes + 2.0 * out * real(n_out.z));
  tensor_bytes_ = 4.0 * real(t.problem.in.S) * (read * real(voxels(t.problem.in.n)) + written * real(voxels(n_out)));
  residual_bytes_ = t.problem.residual ? 4.0 * real(t.problem.in.S) * written * real(voxels(n_out)) : 0;
}

Seconds TileModel::seconds(std::int64_t stacks_per_batch, bool keep_spectra, Products products) const {
  const double batches = real(div_up(stacks_, stacks_per_batch));
  const double each = product_operations(round_up(stacks_per_batch, group_) * tiles_z_, products);
  const double multiplied = batches * each * frequencies_ * pairs_;
  double transforms = transforms_;
  double bytes = batches * kernel_bytes_ + spectra_bytes_ + tensor_bytes_ + residual_bytes_;
  if (!keep_spectra) {
    transforms += kernel_transforms_;
    bytes += kernel_bytes_;
  }
  return TileWork{multiplied, transforms, finishing_, bytes}.seconds(flops_per_second_, bytes_per_second_);
}

Seconds TileModel::own_seconds(std::int64_t stacks_per_batch, int workers, Products products, bool keep_spectra) const {
  const std::int64_t batches = div_up(stacks_, stacks_per_batch);
  const double each = product_operations(stacks_per_batch * tiles_z_, products);
  // Batches are equal: in the last round some workers are idle.
  const double rounds = real(round_up(batches, workers)) / real(batches);
  TileWork work{rounds * real(batches) * each * frequencies_ * pairs_, rounds * transforms_, rounds * finishing_,
                kernel_bytes_ + tensor_bytes_ + residual_bytes_};
  if (!keep_spectra) {
    work.transforms += kernel_transforms_;
    work.bytes += kernel_bytes_;
  }
  return work.seconds(flops_per_second_, bytes_per_second_);
}

Seconds tile_seconds(const TilePlan& plan, const DeviceSpec& spec) {
  if (plan.own_batches) {
    return TileModel(plan.tiling, spec)
        .own_seconds(plan.tiling.stacks_per_batch, spec.threads, plan.products, plan.keep_spectra);
  }
  return TileModel(plan.tiling, spec).seconds(plan.tiling.stacks_per_batch, plan.keep_spectra, plan.products);
}

}  // namespace znni::cpu::fft_tiled
