#include "primitives/cpu/grad/weights_plans.hpp"

#include <algorithm>
#include <cmath>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/fft_tiled/fastest_few.hpp"
#include "primitives/cpu/fft_tiled/tile_choice.hpp"

namespace znni::cpu::fft_tiled {
namespace {

// Measured fractions of the peak rate, and the part of the bytes moved that does not hide behind arithmetic.
constexpr double product_efficiency = 0.84;
constexpr double transform_efficiency = 0.14;
constexpr double share_in_the_open = 0.6;
constexpr Seconds seconds_of_starting = 1e-4;
// Tiles of a small batch: enough that a frequency's sums are seldom loaded and stored.
constexpr std::int64_t few_tiles = 32;
// Bounds the tiles of a batch; more would need more memory than there is.
constexpr std::int64_t max_tiles = 65536;
constexpr std::size_t offers_of_each = 2;

double real(std::int64_t value) { return static_cast<double>(value); }

double transform_flops(std::int64_t extent) { return extent <= 1 ? 0.0 : 4.0 * real(extent) * std::log2(real(extent)); }

}  // namespace

std::vector<Tiling> fastest_tilings(Tiling tiling, const std::function<Seconds(const Tiling&)>& seconds) {
  const auto extents = [&](int axis) { return extents_along(tiling.problem, axis, tiling.has_border); };
  const std::vector<std::int64_t> along[] = {extents(0), extents(1), extents(2)};
  FastestFew<Tiling> whole(offers_of_each);
  FastestFew<Tiling> batches(offers_of_each);
  for (const std::int64_t z : along[0]) {
    for (const std::int64_t y : along[1]) {
      for (const std::int64_t x : along[2]) {
        tiling.T = {z, y, x};
        const std::int64_t few = div_up(few_tiles, tiling.tiles().z);
        const bool all = mul(tiling.stacks(), tiling.tiles().z) <= max_tiles;
        tiling.stacks_per_batch = tiling.stacks();
        if (all) whole.add(seconds(tiling), tiling);
        if (all && few >= tiling.stacks()) continue;
        tiling.stacks_per_batch = std::min(few, tiling.stacks());
        batches.add(seconds(tiling), tiling);
      }
    }
  }
  std::vector<Tiling> found = whole.choices();
  for (const Tiling& batch : batches.choices()) found.push_back(batch);
  return found;
}

std::vector<Tiling> weights_tilings(const ConvProblem& conv, const TileKernels& kernels, const DeviceSpec& spec) {
  return fastest_tilings(weights_tiling(conv, kernels, {}), [&](const Tiling& t) { return weights_seconds(t, spec); });
}

Variant variant_of(const Tiling& tiling) {
  return {{"tile_z", tiling.T.z}, {"tile_y", tiling.T.y}, {"tile_x", tiling.T.x}, {"stacks", tiling.stacks_per_batch}};
}

Tiling weights_tiling(const ConvProblem& conv, const TileKernels& kernels, const Variant& variant) {
  const Vec3 T{setting(variant, "tile_z", 16), setting(variant, "tile_y", 16), setting(variant, "tile_x", 16)};
  const Phases phases = phases_of(conv);
  return {phase_problem(conv, phases), kernels.lanes, T, setting(variant, "stacks", 1), phases};
}

std::int64_t weights_worker_floats(const Tiling& tiling) {
  return whole_lines(std::max({forward_scratch(tiling), forward_scratch(tiling_of_output(tiling)),
                               weights_column_scratch(tiling), weights_inverse_scratch(tiling)}));
}

MemoryPlan weights_memory(const ConvProblem& conv, const Tiling& tiling, int workers, Format in) {
  MemoryPlan memory = gradient_buffers({conv, GradientOf::weights}, in, planar_format);
  declare_floats(memory, input_spectra_name, mul(tiling.columns(), tiling.column_step()));
  declare_floats(memory, gradient_spectra_name, mul(tiling.columns(), tiling.column_step()));
  declare_floats(memory, weights_sums_name, mul(tiling.columns(), weights_column_floats(tiling)));
  declare_floats(memory, gradient_scratch_name, mul(workers, weights_worker_floats(tiling)));
  return memory;
}

std::int64_t whole_lines(std::int64_t floats) {
  return round_up(floats, buffer_alignment / static_cast<std::int64_t>(sizeof(float)));
}

void declare_floats(MemoryPlan& memory, std::string_view name, std::int64_t floats) {
  memory.push_back({std::string(name), MemorySpace::host, float_bytes(floats), Lifetime::stages(0, 0)});
}

double plane_operations(const Tiling& t) {
  return 0.5 * real(t.T.y) * transform_flops(t.T.x) + real(t.columns()) / real(t.T.y) * transform_flops(t.T.y);
}

double line_operations(const Tiling& t) { return real(t.columns()) * transform_flops(t.T.z); }

// Planes of input and gradient are transformed, then columns of each tile. Sums are transformed back along z for each
// batch, and along y and x once.
GradientWork weights_work(const Tiling& t) {
  const double in = real(t.in_blocks() * t.lanes);
  const double out = real(t.out_blocks() * t.lanes);
  const double columns = real(t.columns());
  const double stacks = real(t.stacks());
  const double tiles = stacks * real(t.tiles().z);
  const double pairs = real(t.problem.in.f) * out;
  const double plane = plane_operations(t);
  const double line = line_operations(t);
  GradientWork work;
  work.transforms = stacks * plane * (in * real(t.planes()) + out * real(t.n_out().z)) + tiles * line * (in + out) +
                    pairs * real(t.batches()) * line + pairs * real(t.problem.k.z) * plane;
  work.products = 8.0 * tiles * columns * real(t.T.z) * pairs;
  work.bytes = 16.0 * columns * stacks * (in + out) * real(t.planes()) +
               16.0 * real(t.batches()) * columns * real(t.problem.k.z) * pairs;
  return work;
}

Seconds seconds_of(const GradientWork& work, const DeviceSpec& spec) {
  return seconds_of_starting + work.transforms / (transform_efficiency * spec.flops_per_second) +
         work.products / (product_efficiency * spec.flops_per_second) +
         share_in_the_open * work.bytes / spec.bytes_per_second;
}

Seconds weights_seconds(const Tiling& tiling, const DeviceSpec& spec) { return seconds_of(weights_work(tiling), spec); }

}  // namespace znni::cpu::fft_tiled
