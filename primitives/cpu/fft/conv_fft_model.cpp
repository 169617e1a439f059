#include "primitives/cpu/fft/conv_fft_model.hpp"

#include <algorithm>
#include <array>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/fft/conv_fft_memory.hpp"
#include "primitives/cpu/fft/fft_sizes.hpp"

namespace znni::cpu {
namespace {

// Costs are counted in operations at a core's peak rate with at most eight lanes, the widest that common builds of FFTW
// use.
constexpr int fft_lanes = 8;

// Cost per value of a complex line and per voxel of a real line, including moves to or from a tile, by the line's
// length. Measured with FFTW. FFTW has straight-line code for lengths up to 16, and for 20, 25, 32 and 64. Other
// lengths need two passes or more; the more often 2 divides the length, the better the code of these passes.
struct LengthCost {
  double complex_value;
  double real_voxel;
};
constexpr LengthCost straight = {45, 80};
constexpr LengthCost multiple_of_eight = {95, 105};
constexpr LengthCost multiple_of_four = {110, 130};
constexpr LengthCost other_length = {165, 200};

LengthCost cost_of(std::int64_t n) {
  constexpr std::array<std::int64_t, 4> longer_straight = {20, 25, 32, 64};
  if (n <= 16 || std::find(longer_straight.begin(), longer_straight.end(), n) != longer_straight.end()) return straight;
  if (n % 8 == 0) return multiple_of_eight;
  return n % 4 == 0 ? multiple_of_four : other_length;
}

// Cost of a multiply-add whose operands are in cache, but not all in the first level. It has 8 operations, and its
// shuffles take three times as long.
constexpr double multiply_add_operations = 48;
// Extra cost in the data-parallel form with several inputs, whose sums do not fit into first-level cache together.
constexpr double several_sums_operations = 31;
// Bytes of a complex value that a pass along one axis, or a sum of products, reads and writes if its transform is not
// in the last level of cache.
constexpr double pass_bytes = 16;
// Bytes per multiply-add, which reads the channel's transform once.
constexpr double multiply_add_bytes = 8;
// Time of one synchronisation of all workers, in which early workers fall asleep.
constexpr Seconds meeting = 25e-6;

double real(std::int64_t value) { return static_cast<double>(value); }

// Rates of one core while all others do the same.
struct CoreRates {
  double operations;
  double bytes;  // of main memory
};

CoreRates rates(const DeviceSpec& spec) {
  const double lanes = static_cast<double>(std::min(spec.simd_floats, fft_lanes)) / spec.simd_floats;
  return {spec.flops_per_second / spec.threads * lanes, spec.bytes_per_second / spec.threads};
}

// Returns the operations of `lines` complex lines of length n.
double line_operations(double lines, std::int64_t n) { return lines * real(n) * cost_of(n).complex_value; }

// Returns whether `count` transforms used together are too many for the last level of cache; other data of the layer
// takes most of it.
bool far(double count, Vec3 n_fft, const DeviceSpec& spec) {
  return count * 8 * real(transform_elements(n_fft)) > real(spec.l3_bytes) / 8;
}

// Returns the time of one pruned transform on one core, forward or backward: k.z k.y lines along x, k.z rows along y,
// all along z.
Seconds transform_seconds(Vec3 n_fft, Vec3 kept, bool is_far, const DeviceSpec& spec) {
  const CoreRates core = rates(spec);
  const double row = real(row_elements(n_fft));
  const double x = real(kept.z) * real(kept.y) * real(n_fft.x) * cost_of(n_fft.x).real_voxel;
  const double y = line_operations(real(kept.z) * row, n_fft.y);
  const double z = line_operations(real(n_fft.y) * row, n_fft.z);
  const double bytes = pass_bytes * real(transform_elements(n_fft)) * (1 + real(kept.z) / real(n_fft.z));
  return (x + y + z) / core.operations + (is_far ? bytes / core.bytes : 0);
}

// Returns the time of the products of f channels with their kernels into one sum, on one core. Prefetching lets reading
// and computing overlap.
Seconds products_seconds(Vec3 n_fft, std::int64_t f, bool channels_far, bool sums_far, const DeviceSpec& spec) {
  const CoreRates core = rates(spec);
  const double values = real(transform_elements(n_fft));
  const Seconds one = std::max(values * multiply_add_operations / core.operations,
                               channels_far ? values * multiply_add_bytes / core.bytes : 0);
  return real(f) * one + (sums_far ? values * pass_bytes / core.bytes : 0);
}

// Times of the kinds of work of one layer, on one core.
struct Parts {
  Seconds channel;   // transform of one input channel
  Seconds kernel;    // transform of one kernel
  Seconds products;  // products of one output channel of one input
  Seconds output;    // transform of one output channel
};

// Computes the times. `sums` and `kernels` are the numbers of transforms of output channels and kernels in use at once.
Parts parts(const ConvProblem& problem, double sums, double kernels, const DeviceSpec& spec) {
  const Vec3 n_fft = fft_extent(problem.in.n);
  const bool channels_far = far(real(problem.in.S) * real(problem.in.f), n_fft, spec);
  const bool sums_far = far(sums, n_fft, spec);
  const bool kernels_far = 8 * real(transform_elements(n_fft)) > real(spec.l2_bytes) && far(kernels, n_fft, spec);
  return {transform_seconds(n_fft, problem.in.n, channels_far, spec),
          transform_seconds(n_fft, problem.k, kernels_far, spec),
          products_seconds(n_fft, problem.in.f, channels_far, sums_far, spec),
          transform_seconds(n_fft, output_shape(problem).n, sums_far, spec)};
}

// Returns the longest share if `tasks` equal tasks go to `workers`.
double rounds(std::int64_t tasks, std::int64_t workers) { return real(div_up(tasks, workers)); }

// Returns the time to read the residual, by all cores, and of the activation. The sums are in cache and cost no time.
Seconds finish_seconds(const ConvProblem& problem, const DeviceSpec& spec) {
  const Shape5 shape = output_shape(problem);
  const Seconds reading = problem.residual ? real(tensor_bytes(shape, {})) / spec.bytes_per_second : 0;
  return reading + real(elements(shape)) * late_activation_flops(problem.activation, spec) / spec.flops_per_second;
}

}  // namespace

Seconds task_parallel_seconds(const ConvProblem& problem, const DeviceSpec& spec) {
  const std::int64_t S = problem.in.S;
  const std::int64_t primaries = primary_threads(spec.threads, problem.f_out);
  const Parts part = parts(problem, real(S) * real(problem.f_out), real(primaries), spec);
  const Seconds output_channel = real(problem.in.f) * part.kernel + real(S) * part.products;
  return rounds(mul(S, problem.in.f), spec.threads) * part.channel + rounds(problem.f_out, primaries) * output_channel +
         rounds(mul(S, problem.f_out), spec.threads) * part.output + finish_seconds(problem, spec) + 4 * meeting;
}

Seconds data_parallel_seconds(const ConvProblem& problem, const DeviceSpec& spec) {
  const Parts part = parts(problem, real(problem.in.S), 0, spec);
  const double inputs = real(problem.in.S) * real(problem.in.f);
  const double kernels = real(problem.in.f) * real(problem.f_out);
  const double outputs = real(problem.in.S) * real(problem.f_out);
  const double values = real(transform_elements(fft_extent(problem.in.n)));
  const Seconds extra = problem.in.S == 1 ? 0 : values * several_sums_operations / rates(spec).operations;
  const Seconds products = part.products + real(problem.in.f) * extra;
  const Seconds work = inputs * part.channel + kernels * part.kernel + outputs * (products + part.output);
  // One per group of channels; two per group of kernels whose planes fit into one transform; two per output channel.
  const std::int64_t group = fft_size(problem.in.n.z) / problem.k.z;
  const double groups = real(div_up(mul(problem.in.S, problem.in.f), channels_per_meeting(problem)));
  const double meetings = groups + 2 * real(problem.f_out) * (real(div_up(problem.in.f, group)) + 1);
  return work / spec.threads + finish_seconds(problem, spec) + meetings * meeting;
}

Seconds min_fft_seconds(const ConvProblem& problem, const DeviceSpec& spec) {
  const double products = real(problem.in.S) * real(problem.in.f) * real(problem.f_out);
  const double operations = products * real(transform_elements(problem.in.n)) * multiply_add_operations;
  return operations / rates(spec).operations / spec.threads;
}

}  // namespace znni::cpu
