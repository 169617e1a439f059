#include "tests/bench/layers/onednn_channels_last.hpp"

#include <algorithm>
#include <utility>

#include "primitives/core/refusals.hpp"
#include "primitives/cpu/conv/onednn_convolution.hpp"
#include "primitives/cpu/device/estimates.hpp"

namespace znni::bench {
namespace {

using cpu::OnednnConvolution;

constexpr std::string_view own_name = "bench.conv.onednn_channels_last";
constexpr Format channels_last{ElementType::f32, Layout::channels_last};
constexpr std::string_view weights_name = "reordered weights";
constexpr std::string_view bias_name = "bias";
constexpr std::string_view workspace_name = "library workspace";

class ChannelsLastLayer final : public PreparedLayer {
 public:
  ChannelsLastLayer(OnednnConvolution convolution, std::span<const std::byte> weights, std::span<const float> bias)
      : convolution_(std::move(convolution)), weights_(weights), bias_(bias) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena& arena) override {
    std::byte* workspace = convolution_.workspace_bytes() > 0 ? arena.grant(workspace_name).data() : nullptr;
    const float* residual = inputs.size() > 1 ? inputs[1].data : nullptr;
    return convolution_.run({inputs[0].data, residual, weights_.data(), bias_.data(), out.data, workspace});
  }

 private:
  OnednnConvolution convolution_;
  std::span<const std::byte> weights_;
  std::span<const float> bias_;
};

Result<std::vector<Estimate>> describe_conv(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* conv = std::get_if<ConvProblem>(&problem);
  if (conv == nullptr) return refusal(own_name, "convolutions", problem);
  const Result<OnednnConvolution> made = OnednnConvolution::describe(*conv, channels_last, channels_last, spec.threads);
  if (!made) return made.error();
  const Seconds seconds = cpu::modelled_time(spec, direct_flops(*conv), 1.0, 0.0);  // the only way, so never ranked
  Estimate result{{}, channels_last, channels_last, seconds, input_output_buffers(*conv, channels_last, channels_last)};
  const auto declare = [&](std::string_view buffer, std::int64_t bytes, Lifetime lifetime) {
    if (bytes > 0) result.memory.push_back({std::string(buffer), MemorySpace::host, bytes, lifetime});
  };
  declare(weights_name, made->weights_bytes(), Lifetime::plan());
  declare(bias_name, cpu::float_bytes(conv->f_out), Lifetime::plan());
  declare(workspace_name, made->workspace_bytes(), Lifetime::stages(0, 0));
  return std::vector{std::move(result)};
}

Result<std::unique_ptr<PreparedLayer>> prepare(const LayerProblem& problem, const Estimate& chosen,
                                               const LayerWeights& weights, Arena& persistent, Device& device) {
  const auto& conv = std::get<ConvProblem>(problem);
  Result<OnednnConvolution> made =
      OnednnConvolution::describe(conv, chosen.in, chosen.out, device.executor().workers());
  if (!made) return made.error();
  if (Result<void> built = made->build(); !built) return built.error();
  const std::span<std::byte> reordered = persistent.grant(weights_name);
  if (Result<void> done = made->reorder_weights(weights.kernels.data(), reordered.data()); !done) return done.error();
  const std::span<float> bias = persistent.grant_as<float>(bias_name);
  std::fill(bias.begin(), bias.end(), 0.0F);
  std::copy(weights.bias.begin(), weights.bias.end(), bias.begin());
  return std::unique_ptr<PreparedLayer>(std::make_unique<ChannelsLastLayer>(std::move(*made), reordered, bias));
}

}  // namespace

constinit const Primitive onednn_channels_last{own_name, 1, DeviceKind::cpu, &describe_conv, &prepare};

}  // namespace znni::bench
