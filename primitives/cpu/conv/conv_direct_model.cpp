#include "primitives/cpu/conv/conv_direct_model.hpp"

#include <algorithm>

#include "primitives/cpu/conv/conv_direct_kernel.hpp"
#include "primitives/cpu/device/estimates.hpp"

namespace znni::cpu {
namespace {

// Measured shares of the rate of two 8-lane multiply-adds a cycle, for which this code is written. The first two are
// for tiles of two or three vectors: with the input rows of an output row in first-level cache, and without. The third
// is for narrower tiles, the fourth for tiles by channels.
constexpr double near_efficiency = 0.95;
constexpr double far_efficiency = 0.75;
constexpr double one_vector_efficiency = 0.6;
constexpr double channel_tile_efficiency = 0.7;
constexpr double first_level_bytes = 32768;
constexpr double flops_per_cycle = 32;
// Cost of going to the next row of the kernel, in kernel positions.
constexpr double row_positions = 1;
// The same for strided tiles by channels, whose positions are cheaper.
constexpr double strided_row_positions = 4;
// Operations per output voxel that do not depend on f and k: starting, storing and activating a tile.
constexpr double overhead_flops = 50.0;

// Returns the rate of 8 lanes as a share of the device's rate.
double rate_share(const DeviceSpec& spec) {
  return std::min(1.0, flops_per_cycle * spec.hertz * spec.threads / spec.flops_per_second);
}

// Returns the share of its tiles' capacity that a row uses. Tiles have three vectors as long as enough voxels are left;
// the last one is moved back.
double tiles_share(std::int64_t voxels) {
  constexpr std::int64_t widest = 3 * direct_lanes;
  auto vectors = 3.0 * static_cast<double>(voxels / widest);
  for (std::int64_t x = voxels / widest * widest; x < voxels;) {
    const std::int64_t tile = std::min(div_up(voxels - x, direct_lanes), voxels / direct_lanes);
    vectors += static_cast<double>(tile) / (tile == 1 ? one_vector_efficiency : 1.0);
    x = std::min(x, voxels - tile * direct_lanes) + tile * direct_lanes;
  }
  return static_cast<double>(voxels) / static_cast<double>(direct_lanes) / vectors;
}

double voxel_tiles_efficiency(const ConvProblem& conv) {
  const std::int64_t block = direct_block_channels(output_shape(conv).n.x, conv.stride.x);
  const auto rows = static_cast<double>(float_bytes(mul(mul(conv.in.f, conv.k.z), mul(conv.k.y, conv.in.n.x))));
  // A weight is broadcast for every channel, but an input vector is loaded once for all: few channels starve the units.
  const double channels = static_cast<double>(std::min(conv.f_out, block)) / static_cast<double>(block);
  const auto positions = static_cast<double>(conv.k.x);
  return (rows <= first_level_bytes ? near_efficiency : far_efficiency) * tiles_share(output_shape(conv).n.x) *
         (0.4 + 0.6 * channels) * positions / (positions + row_positions);
}

double channel_tiles_efficiency(const ConvProblem& conv) {
  const auto channels = static_cast<double>(conv.f_out);
  const auto filled = static_cast<double>(round_up(conv.f_out, direct_lanes));
  const auto tile = static_cast<double>(direct_tile_voxels(output_shape(conv).n.x));
  const auto positions = static_cast<double>(conv.k.x);
  const double rows = conv.stride.x == 1 ? 1.0 : positions / (positions + strided_row_positions);
  return channel_tile_efficiency * channels / filled * tile / (direct_lanes - 1) * rows;
}

}  // namespace

double direct_row_flops(const ConvProblem& conv, const DeviceSpec& spec) {
  const bool by_voxels = is_tiled_by_voxels(output_shape(conv).n.x, conv.stride.x);
  const double efficiency =
      rate_share(spec) * (by_voxels ? voxel_tiles_efficiency(conv) : channel_tiles_efficiency(conv));
  const auto outputs = static_cast<double>(elements(output_shape(conv)));
  const double finish = activation_flops(conv.activation, spec) + (conv.residual ? vector_flops(1.0, spec) : 0.0);
  return (direct_flops(conv) + overhead_flops * outputs) / efficiency + finish * outputs;
}

}  // namespace znni::cpu
