#include "primitives/cpu/conv/bf16_slabs.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "primitives/cpu/conv/bf16_rows.hpp"

namespace znni::cpu {
namespace {

// Measured on one processor, with 1 to 320 channels, kernels of 1 to 5 and strides of 1 and 2.
constexpr double efficiency = 0.95;         // of the rate of AVX512_BF16
constexpr double cycles_of_rounding = 5.0;  // of a block of one voxel
constexpr double cycles_of_copying = 6.0;
constexpr double cycles_of_slab = 2e4;               // to call the library
constexpr double cycles_per_byte_of_kernels = 0.05;  // they are read again for each slab
// What part of the traffic no worker hides behind computing.
constexpr double part_of_traffic = 0.5;
// The part of the cache of a core that a slab's input and output may take.
constexpr double part_of_cache = 0.5;

double blocks_of(std::int64_t channels) { return static_cast<double>(div_up(channels, bf16_block)); }

// Returns some extents from 1 to n, closer to each other the smaller they are.
std::vector<std::int64_t> extents_up_to(std::int64_t n) {
  std::vector<std::int64_t> all;
  for (std::int64_t extent = 1; extent < n; extent += std::max<std::int64_t>(1, extent / 2)) all.push_back(extent);
  all.push_back(n);
  return all;
}

Bf16Slabs slabs_of(const ConvProblem& problem, Vec3 n) {
  Bf16Slabs slabs{problem, output_shape(problem).n};
  for (int axis = 0; axis < 3; ++axis) slabs.pieces[axis] = div_up(slabs.pieces[axis], n[axis]);
  slabs.slab.in.S = 1;
  slabs.slab.in.n = problem.stride * (n - Vec3::cube(1)) + dilated(problem.k, problem.dilation);
  return slabs;
}

double kernel_bytes(const ConvProblem& problem) {
  return 2.0 * static_cast<double>(bf16_block * bf16_block * voxels(problem.k)) * blocks_of(problem.in.f) *
         blocks_of(problem.f_out);
}

// Returns the cycles of one slab on one worker.
double cycles_in(const Bf16Slabs& slabs, const DeviceSpec& spec) {
  const ConvProblem& slab = slabs.slab;
  const double per_cycle = spec.accelerator.bf16_flops_per_second / (spec.hertz * spec.threads);
  const auto outputs = static_cast<double>(voxels(output_shape(slab).n));
  const auto inputs = static_cast<double>(voxels(slab.in.n));
  const double flops = outputs * kernel_bytes(slab);  // two for each weight of two bytes
  const double passes = slab.residual ? 2.0 : 1.0;
  const double late = late_activation_flops(slab.activation, spec) * spec.hertz * spec.threads / spec.flops_per_second;
  return flops / (efficiency * per_cycle) + cycles_of_rounding * inputs * blocks_of(slab.in.f) +
         (cycles_of_copying * passes + static_cast<double>(bf16_block) * late) * outputs * blocks_of(slab.f_out) +
         cycles_of_slab + cycles_per_byte_of_kernels * kernel_bytes(slab);
}

bool fits_cache(const Bf16Slabs& slabs, const DeviceSpec& spec) {
  const auto bytes = static_cast<double>(slabs.rounded_bytes() + slabs.output_bytes());
  return bytes <= part_of_cache * static_cast<double>(spec.l2_bytes);
}

}  // namespace

std::int64_t Bf16Slabs::rounded_bytes() const {
  return mul(2, mul(round_up(slab.in.f, bf16_block), voxels(slab.in.n)));
}

std::int64_t Bf16Slabs::output_bytes() const {
  return mul(4, mul(round_up(slab.f_out, bf16_block), voxels(output_shape(slab).n)));
}

Bf16Slabs choose_slabs(const ConvProblem& problem, const DeviceSpec& spec) {
  const Vec3 n = output_shape(problem).n;
  Bf16Slabs best = slabs_of(problem, {1, 1, n.x});  // also if it is too large for the cache
  Seconds least = fits_cache(best, spec) ? seconds_in(best, problem, spec) : std::numeric_limits<Seconds>::infinity();
  for (const std::int64_t z : extents_up_to(n.z)) {
    for (const std::int64_t y : extents_up_to(n.y)) {
      const Bf16Slabs slabs = slabs_of(problem, {z, y, n.x});
      if (!fits_cache(slabs, spec)) break;
      const Seconds seconds = seconds_in(slabs, problem, spec);
      if (seconds >= least) continue;
      least = seconds;
      best = slabs;
    }
  }
  return best;
}

Seconds seconds_in(const Bf16Slabs& slabs, const ConvProblem& problem, const DeviceSpec& spec) {
  const std::int64_t count = mul(problem.in.S, voxels(slabs.pieces));
  const auto turns = static_cast<double>(div_up(count, spec.threads));
  const Seconds computing = turns * cycles_in(slabs, spec) / spec.hertz;
  const Format blocked = blocked_format(spec);
  const Seconds traffic = tensor_traffic(problem, blocked, blocked) / spec.bytes_per_second;
  return std::max(computing + part_of_traffic * traffic, traffic) + modelled_time(spec, 0, 1, 0);
}

}  // namespace znni::cpu
