#include "primitives/cpu/grad/both_plans.hpp"

#include <algorithm>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/fft_tiled/tile_memory.hpp"
#include "primitives/cpu/fft_tiled/tile_model.hpp"
#include "primitives/cpu/grad/turned.hpp"

namespace znni::cpu::fft_tiled {
namespace {

double real(std::int64_t value) { return static_cast<double>(value); }

}  // namespace

std::vector<Tiling> both_tilings(const ConvProblem& conv, const TileKernels& kernels, const DeviceSpec& spec) {
  const Tiling any{turned_problem(conv), kernels.lanes, {}, 1, {}, false, true};
  return fastest_tilings(any, [&](const Tiling& t) { return both_seconds(t, spec); });
}

Tiling both_tiling(const ConvProblem& conv, const TileKernels& kernels, const Variant& variant) {
  Tiling tiling = weights_tiling(turned_problem(conv), kernels, variant);
  tiling.has_border = true;
  return tiling;
}

Products both_products(const Tiling& tiling) { return cheaper_products(tiling.tiles_per_batch()); }

std::int64_t both_worker_floats(const Tiling& t, const TileKernels& kernels) {
  return whole_lines(std::max({weights_worker_floats(t), column_scratch(t, kernels, both_products(t)),
                               inverse_scratch(t), spectra_scratch(t)}));
}

MemoryPlan both_memory(const ConvProblem& conv, const Tiling& t, const TileKernels& kernels, int workers, Format in,
                       Format out) {
  MemoryPlan memory = gradient_buffers({conv, GradientOf::both}, in, out);
  const std::int64_t planes = mul(t.problem.in.S, output_shape(conv).n.z);
  declare_floats(memory, gradient_spectra_name, mul(t.columns(), t.column_step()));
  declare_floats(memory, input_spectra_name, mul(t.columns(), t.column_step()));
  declare_floats(memory, turned_name, mul(mul(conv.f_out, conv.in.f), voxels(conv.k)));
  declare_floats(memory, kernel_spectra_name, mul(t.columns(), kernel_column_floats(t)));
  declare_floats(memory, weights_sums_name, mul(t.columns(), weights_column_floats(t)));
  declare_floats(memory, bias_sums_name, mul(2, mul(planes, bias_row(t))));
  declare_floats(memory, gradient_scratch_name, mul(workers, both_worker_floats(t, kernels)));
  return memory;
}

// Beside the gradient of the kernels: their spectra, products with those of the windows, and inverse transforms.
Seconds both_seconds(const Tiling& t, const DeviceSpec& spec) {
  const double out = real(t.out_blocks() * t.lanes);
  const double columns = real(t.columns());
  const double stacks = real(t.stacks());
  const double tiles = stacks * real(t.tiles().z);
  const double pairs = real(t.problem.in.f) * out;
  const double plane = plane_operations(t);
  const double line = line_operations(t);
  GradientWork work = weights_work(t);
  work.transforms +=
      pairs * (real(t.problem.k.z) * plane + line) + out * (tiles * line + stacks * plane * real(t.n_out().z));
  const double each = both_products(t) == Products::three ? 6.0 : 8.0;
  work.products += each * tiles * columns * real(t.T.z) * pairs;
  work.bytes += 16.0 * columns * (stacks * out * real(t.n_out().z) + real(t.T.z) * pairs);
  return seconds_of(work, spec);
}

}  // namespace znni::cpu::fft_tiled
