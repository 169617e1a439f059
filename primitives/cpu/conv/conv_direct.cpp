// cpu.conv.direct: the textbook convolution, blocked for registers (conv_direct_kernel.hpp). Planar in and out, no
// scratch. A worker takes one plane of a group of output channels. The group's kernels and the input rows of one output
// row stay in the core's own cache.
#include <algorithm>
#include <span>

#include "primitives/cpu/conv/conv_direct_kernel.hpp"
#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/vectors/activate.hpp"

namespace znni::cpu {
namespace {

// Measured shares of the rate of two 8-lane multiply-adds a cycle, for which this code is written. The first two are
// for tiles of two or three vectors: with the input rows of an output row in first-level cache, and without. The third
// is for narrower tiles, the fourth for tiles by channels.
constexpr double near_efficiency = 0.95;
constexpr double far_efficiency = 0.75;
constexpr double one_vector_efficiency = 0.6;
constexpr double image_tile_efficiency = 0.7;
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

std::int64_t block_images(const ConvProblem& conv) {
  return direct_block_images(output_shape(conv).n.x, conv.stride.x);
}

double voxel_tiles_efficiency(const ConvProblem& conv) {
  const std::int64_t block = block_images(conv);
  const auto rows = static_cast<double>(float_bytes(mul(mul(conv.in.f, conv.k.z), mul(conv.k.y, conv.in.n.x))));
  // A weight is broadcast for every channel, but an input vector is loaded once for all: few channels starve the units.
  const double images = static_cast<double>(std::min(conv.f_out, block)) / static_cast<double>(block);
  const auto positions = static_cast<double>(conv.k.x);
  return (rows <= first_level_bytes ? near_efficiency : far_efficiency) * tiles_share(output_shape(conv).n.x) *
         (0.4 + 0.6 * images) * positions / (positions + row_positions);
}

double image_tiles_efficiency(const ConvProblem& conv) {
  const auto images = static_cast<double>(conv.f_out);
  const auto filled = static_cast<double>(round_up(conv.f_out, direct_lanes));
  const auto tile = static_cast<double>(direct_tile_voxels(output_shape(conv).n.x));
  const auto positions = static_cast<double>(conv.k.x);
  const double rows = conv.stride.x == 1 ? 1.0 : positions / (positions + strided_row_positions);
  return image_tile_efficiency * images / filled * tile / (direct_lanes - 1) * rows;
}

Seconds model(const ConvProblem& conv, const DeviceSpec& spec) {
  const bool by_voxels = is_tiled_by_voxels(output_shape(conv).n.x, conv.stride.x);
  const double efficiency =
      rate_share(spec) * (by_voxels ? voxel_tiles_efficiency(conv) : image_tiles_efficiency(conv));
  const auto outputs = static_cast<double>(elements(output_shape(conv)));
  const double finish = activation_flops(conv.activation, spec) + (conv.residual ? vector_flops(1.0, spec) : 0.0);
  const double flops = (direct_flops(conv) + overhead_flops * outputs) / efficiency + finish * outputs;
  return modelled_time(spec, flops, 1.0, tensor_traffic(conv, planar_format, planar_format));
}

std::int64_t padded_images(const ConvProblem& conv) { return round_up(conv.f_out, block_images(conv)); }

Result<std::vector<Estimate>> describe(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* conv = std::get_if<ConvProblem>(&problem);
  if (conv == nullptr) return refusal("cpu.conv.direct", "convolutions", problem);
  Estimate estimate;
  estimate.time = model(*conv, spec);
  estimate.memory = input_output_buffers(problem, planar_format, planar_format);
  const std::int64_t images = padded_images(*conv);
  const std::int64_t packed = mul(images, mul(conv->in.f, voxels(conv->k)));
  estimate.memory.push_back({"kernels", MemorySpace::host, float_bytes(packed), Lifetime::plan()});
  estimate.memory.push_back({"bias", MemorySpace::host, float_bytes(images), Lifetime::plan()});
  return std::vector<Estimate>{std::move(estimate)};
}

// Blocks of output channels that one worker computes together, row by row.
struct Grouping {
  std::int64_t blocks = 1;     // total number, of direct_block_images() channels each
  std::int64_t per_group = 1;  // their kernels fill at most half of the second-level cache
  std::int64_t groups = 1;
};

Grouping group_blocks(const ConvProblem& conv, const DeviceSpec& spec) {
  const std::int64_t block = block_images(conv);
  const std::int64_t block_bytes = float_bytes(block * conv.in.f * voxels(conv.k));
  Grouping grouping;
  grouping.blocks = div_up(conv.f_out, block);
  const std::int64_t cached = std::clamp(spec.l2_bytes / 2 / block_bytes, std::int64_t{1}, grouping.blocks);
  // If there are few planes, groups are smaller, so that every worker gets several.
  const std::int64_t wanted = div_up(std::int64_t{4} * spec.threads, conv.in.S * output_shape(conv).n.z);
  grouping.per_group = std::min(cached, div_up(grouping.blocks, wanted));
  grouping.groups = div_up(grouping.blocks, grouping.per_group);
  return grouping;
}

class ConvDirect final : public PreparedLayer {
 public:
  ConvDirect(const ConvProblem& conv, std::span<const float> kernels, std::span<const float> bias, Device& device)
      : conv_(conv),
        block_(block_images(conv)),
        grouping_(group_blocks(conv, device.spec())),
        kernels_(kernels),
        bias_(bias),
        executor_(device.executor()) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena&) override {
    executor_.parallel_for(out.shape.S * grouping_.groups * out.shape.n.z, [&](std::int64_t index, int) {
      const std::int64_t z = index % out.shape.n.z;
      const std::int64_t group = index / out.shape.n.z % grouping_.groups;
      compute_plane(inputs, out, index / out.shape.n.z / grouping_.groups, group, z);
    });
    return {};
  }

 private:
  void compute_plane(std::span<const TensorView> inputs, const TensorView& out, std::int64_t s, std::int64_t group,
                     std::int64_t z) const {
    const std::int64_t first = group * grouping_.per_group;
    const std::int64_t last = std::min(first + grouping_.per_group, grouping_.blocks);
    for (std::int64_t y = 0; y < out.shape.n.y; ++y) {
      for (std::int64_t index = first; index < last; ++index) compute_row(inputs, out, s, index, {z, y, 0});
    }
  }

  void compute_row(std::span<const TensorView> inputs, const TensorView& out, std::int64_t s, std::int64_t index,
                   Vec3 start) const {
    const TensorView& in = inputs[0];
    const std::int64_t first = index * block_;
    const DirectRow row{.in = &in.at(s, 0, start * conv_.stride),
                        .in_strides = in.strides,
                        .f = conv_.in.f,
                        .k = conv_.k,
                        .dilation = conv_.dilation,
                        .step = conv_.stride.x,
                        .kernels = kernels_.data() + first * conv_.in.f * voxels(conv_.k),
                        .bias = bias_.data() + first,
                        .out = &out.at(s, first, start),
                        .out_f = out.strides.f,
                        .voxels = out.shape.n.x,
                        .images = std::min(block_, conv_.f_out - first)};
    direct_row(row);
    const auto length = static_cast<std::size_t>(row.voxels);
    for (std::int64_t j = 0; j < row.images; ++j) {
      const std::span<float> written(row.out + j * row.out_f, length);
      if (conv_.residual) accumulate({&inputs[1].at(s, first + j, start), length}, written);
      activate(conv_.activation, written);
    }
  }

  ConvProblem conv_;
  std::int64_t block_;
  Grouping grouping_;
  std::span<const float> kernels_;
  std::span<const float> bias_;
  Executor& executor_;
};

Result<std::unique_ptr<PreparedLayer>> prepare(const LayerProblem& problem, const Estimate&,
                                               const LayerWeights& weights, Arena& persistent, Device& device) {
  const auto& conv = std::get<ConvProblem>(problem);
  const std::span<float> kernels = persistent.grant_as<float>("kernels");
  const std::span<float> bias = persistent.grant_as<float>("bias");
  pack_direct_kernels(weights.kernels, conv.in.f * voxels(conv.k), block_images(conv), kernels);
  copy_padded(weights.bias, bias);
  return std::unique_ptr<PreparedLayer>(std::make_unique<ConvDirect>(conv, kernels, bias, device));
}

}  // namespace

extern constinit const Primitive conv_direct{"cpu.conv.direct", 3, DeviceKind::cpu, &describe, &prepare};

}  // namespace znni::cpu
