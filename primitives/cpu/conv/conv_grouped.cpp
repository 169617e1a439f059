// cpu.conv.grouped: convolutions with groups, depthwise ones among them. Each group is a convolution of its own, by the
// rows of conv_direct_kernel.hpp. Planar in and out, no scratch. A worker takes one plane of one group.
#include <algorithm>
#include <span>

#include "primitives/cpu/conv/conv_direct_kernel.hpp"
#include "primitives/cpu/conv/conv_direct_model.hpp"
#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/vectors/activate.hpp"

namespace znni::cpu {
namespace {

constexpr std::string_view grouped_name = "cpu.conv.grouped";

// Returns the convolution that one group is.
ConvProblem group_of(ConvProblem conv) {
  conv.in.f /= conv.groups;
  conv.f_out /= conv.groups;
  conv.groups = 1;
  return conv;
}

std::int64_t block_channels(const ConvProblem& conv) {
  return direct_block_channels(output_shape(conv).n.x, conv.stride.x);
}

// Returns the output channels of a group in whole blocks.
std::int64_t padded_channels(const ConvProblem& group) { return round_up(group.f_out, block_channels(group)); }

Result<std::vector<Estimate>> describe_grouped(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* conv = std::get_if<ConvProblem>(&problem);
  if (conv == nullptr || conv->groups == 1) return refusal(grouped_name, "convolutions with groups", problem);
  const ConvProblem group = group_of(*conv);
  Estimate estimate;
  estimate.time = modelled_time(spec, static_cast<double>(conv->groups) * direct_row_flops(group, spec), 1.0,
                                tensor_traffic(problem, planar_format, planar_format));
  estimate.memory = input_output_buffers(problem, planar_format, planar_format);
  const std::int64_t channels = mul(conv->groups, padded_channels(group));
  const std::int64_t packed = mul(channels, terms_of(group));
  estimate.memory.push_back({"kernels", MemorySpace::host, float_bytes(packed), Lifetime::plan()});
  estimate.memory.push_back({"bias", MemorySpace::host, float_bytes(channels), Lifetime::plan()});
  return std::vector<Estimate>{std::move(estimate)};
}

class ConvGrouped final : public PreparedLayer {
 public:
  ConvGrouped(const ConvProblem& conv, std::span<const float> kernels, std::span<const float> bias, Executor& executor)
      : groups_(conv.groups),
        group_(group_of(conv)),
        block_(block_channels(conv)),
        kernels_(kernels),
        bias_(bias),
        executor_(executor) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena&) override {
    executor_.parallel_for(out.shape.S * groups_ * out.shape.n.z, [&](std::int64_t index, int) {
      const std::int64_t z = index % out.shape.n.z;
      const std::int64_t group = index / out.shape.n.z % groups_;
      compute_plane(inputs, out, index / out.shape.n.z / groups_, group, z);
    });
    return {};
  }

 private:
  void compute_plane(std::span<const TensorView> inputs, const TensorView& out, std::int64_t s, std::int64_t group,
                     std::int64_t z) const {
    for (std::int64_t y = 0; y < out.shape.n.y; ++y) {
      for (std::int64_t first = 0; first < group_.f_out; first += block_) {
        compute_row(inputs, out, s, group, first, {z, y, 0});
      }
    }
  }

  // Computes a row of a block whose first output channel is `first` of its group.
  void compute_row(std::span<const TensorView> inputs, const TensorView& out, std::int64_t s, std::int64_t group,
                   std::int64_t first, Vec3 start) const {
    const TensorView& in = inputs[0];
    const std::int64_t packed = group * padded_channels(group_) + first;
    const std::int64_t channel = group * group_.f_out + first;
    const DirectRow row{.in = &in.at(s, group * group_.in.f, start * group_.stride),
                        .in_strides = in.strides,
                        .f = group_.in.f,
                        .k = group_.k,
                        .dilation = group_.dilation,
                        .step = group_.stride.x,
                        .kernels = kernels_.data() + packed * terms_of(group_),
                        .bias = bias_.data() + packed,
                        .out = &out.at(s, channel, start),
                        .out_f = out.strides.f,
                        .voxels = out.shape.n.x,
                        .channels = std::min(block_, group_.f_out - first)};
    direct_row(row);
    const auto length = static_cast<std::size_t>(row.voxels);
    for (std::int64_t j = 0; j < row.channels; ++j) {
      const std::span<float> written(row.out + j * row.out_f, length);
      if (group_.residual) accumulate({&inputs[1].at(s, channel + j, start), length}, written);
      activate(group_.activation, written);
    }
  }

  std::int64_t groups_;
  ConvProblem group_;
  std::int64_t block_;
  std::span<const float> kernels_;  // [groups][padded channels of a group][terms], packed by blocks
  std::span<const float> bias_;     // [groups][padded channels of a group]
  Executor& executor_;
};

Result<std::unique_ptr<PreparedLayer>> prepare_grouped(const LayerProblem& problem, const Estimate&,
                                                       const LayerWeights& weights, Arena& persistent, Device& device) {
  const auto& conv = std::get<ConvProblem>(problem);
  const ConvProblem group = group_of(conv);
  const std::span<float> kernels = persistent.grant_as<float>("kernels");
  const std::span<float> bias = persistent.grant_as<float>("bias");
  const auto channels = static_cast<std::size_t>(group.f_out);
  const auto padded = static_cast<std::size_t>(padded_channels(group));
  const auto terms = static_cast<std::size_t>(terms_of(group));
  for (std::size_t i = 0; i < static_cast<std::size_t>(conv.groups); ++i) {
    const std::span<const float> own = weights.kernels.subspan(i * channels * terms, channels * terms);
    pack_direct_kernels(own, terms_of(group), block_channels(conv),
                        kernels.subspan(i * padded * terms, padded * terms));
    const std::span<const float> added =
        weights.bias.empty() ? weights.bias : weights.bias.subspan(i * channels, channels);
    copy_padded(added, bias.subspan(i * padded, padded));
  }
  return std::unique_ptr<PreparedLayer>(std::make_unique<ConvGrouped>(conv, kernels, bias, device.executor()));
}

}  // namespace

extern const Primitive conv_grouped;
constinit const Primitive conv_grouped{grouped_name, 3, DeviceKind::cpu, &describe_grouped, &prepare_grouped};

}  // namespace znni::cpu
