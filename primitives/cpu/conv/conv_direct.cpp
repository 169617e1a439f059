// cpu.conv.direct: the textbook convolution, blocked for registers (conv_direct_kernel.hpp). Planar in and out, no
// scratch. A worker takes one plane of a group of output channels. The group's kernels and the input rows of one output
// row stay in the core's own cache.
#include <algorithm>
#include <span>

#include "primitives/cpu/conv/conv_direct_kernel.hpp"
#include "primitives/cpu/conv/conv_direct_model.hpp"
#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/vectors/activate.hpp"

namespace znni::cpu {
namespace {

std::int64_t block_channels(const ConvProblem& conv) {
  return direct_block_channels(output_shape(conv).n.x, conv.stride.x);
}

Seconds model(const ConvProblem& conv, const DeviceSpec& spec) {
  return modelled_time(spec, direct_row_flops(conv, spec), 1.0, tensor_traffic(conv, planar_format, planar_format));
}

std::int64_t padded_channels(const ConvProblem& conv) { return round_up(conv.f_out, block_channels(conv)); }

Result<std::vector<Estimate>> describe_direct(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* conv = std::get_if<ConvProblem>(&problem);
  if (conv == nullptr || conv->groups != 1) return refusal("cpu.conv.direct", "convolutions without groups", problem);
  Estimate estimate;
  estimate.time = model(*conv, spec);
  estimate.memory = input_output_buffers(problem, planar_format, planar_format);
  const std::int64_t channels = padded_channels(*conv);
  const std::int64_t packed = mul(channels, mul(conv->in.f, voxels(conv->k)));
  estimate.memory.push_back({"kernels", MemorySpace::host, float_bytes(packed), Lifetime::plan()});
  estimate.memory.push_back({"bias", MemorySpace::host, float_bytes(channels), Lifetime::plan()});
  return std::vector<Estimate>{std::move(estimate)};
}

// Blocks of output channels that one worker computes together, row by row.
struct Grouping {
  std::int64_t blocks = 1;     // total number, of direct_block_channels() channels each
  std::int64_t per_group = 1;  // their kernels fill at most half of the second-level cache
  std::int64_t groups = 1;
};

Grouping group_blocks(const ConvProblem& conv, const DeviceSpec& spec) {
  const std::int64_t block = block_channels(conv);
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
        block_(block_channels(conv)),
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
                        .channels = std::min(block_, conv_.f_out - first)};
    direct_row(row);
    const auto length = static_cast<std::size_t>(row.voxels);
    for (std::int64_t j = 0; j < row.channels; ++j) {
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

Result<std::unique_ptr<PreparedLayer>> prepare_direct(const LayerProblem& problem, const Estimate&,
                                                      const LayerWeights& weights, Arena& persistent, Device& device) {
  const auto& conv = std::get<ConvProblem>(problem);
  const std::span<float> kernels = persistent.grant_as<float>("kernels");
  const std::span<float> bias = persistent.grant_as<float>("bias");
  pack_direct_kernels(weights.kernels, conv.in.f * voxels(conv.k), block_channels(conv), kernels);
  copy_padded(weights.bias, bias);
  return std::unique_ptr<PreparedLayer>(std::make_unique<ConvDirect>(conv, kernels, bias, device));
}

}  // namespace

extern constinit const Primitive conv_direct{"cpu.conv.direct", 3, DeviceKind::cpu, &describe_direct, &prepare_direct};

}  // namespace znni::cpu
