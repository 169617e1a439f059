// cpu.conv.pointwise: kernels of one voxel between a few channels. Such a layer computes very little, so it should cost
// no more than one pass over its tensors. Planar in and out, no scratch. A stretch of the output stays in the
// first-level cache while the input channels are added to it.
#include <algorithm>
#include <span>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/elementwise/runs.hpp"
#include "primitives/cpu/vectors/activate.hpp"

namespace znni::cpu {
namespace {

constexpr std::string_view pointwise_name = "cpu.conv.pointwise";
// With more channels, registers hold the sums better than caches do.
constexpr std::int64_t max_channels = 4;
constexpr std::size_t stretch = 2048;  // voxels

Seconds model(const ConvProblem& conv, const DeviceSpec& spec) {
  const auto passes = static_cast<double>(conv.in.f + 1 + (conv.residual ? 1 : 0));
  const double flops = vector_flops(passes, spec) + activation_flops(conv.activation, spec);
  const auto outputs = static_cast<double>(elements(output_shape(conv)));
  return modelled_time(spec, flops * outputs, 1.0, tensor_traffic(conv, planar_format, planar_format));
}

Result<std::vector<Estimate>> describe_pointwise(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* conv = std::get_if<ConvProblem>(&problem);
  if (conv == nullptr || conv->k != Vec3::cube(1) || std::max(conv->in.f, conv->f_out) > max_channels) {
    return refusal(pointwise_name, "convolutions of 1x1x1 between up to 4 channels", problem);
  }
  if (!is_plain(*conv)) return refusal(pointwise_name, "convolutions without stride or groups", problem);
  Estimate estimate;
  estimate.time = model(*conv, spec);
  estimate.memory = input_output_buffers(problem, planar_format, planar_format);
  estimate.memory.push_back({"kernels", MemorySpace::host, float_bytes(conv->f_out * conv->in.f), Lifetime::plan()});
  estimate.memory.push_back({"bias", MemorySpace::host, float_bytes(conv->f_out), Lifetime::plan()});
  return std::vector<Estimate>{std::move(estimate)};
}

void scale(std::span<const float> from, float weight, float bias, std::span<float> to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = weight * from[i] + bias;
}

void add_scaled(std::span<const float> from, float weight, std::span<float> to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += weight * from[i];
}

class ConvPointwise final : public PreparedLayer {
 public:
  ConvPointwise(const ConvProblem& conv, std::span<const float> kernels, std::span<const float> bias,
                Executor& executor)
      : conv_(conv), kernels_(kernels), bias_(bias), executor_(executor) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena&) override {
    for_each_run(executor_, out, inputs, conv_.f_out, [&](const Run& run, int) {
      const auto floats = static_cast<std::size_t>(run.floats);
      for (std::size_t begin = 0; begin < floats; begin += stretch) {
        compute(inputs, out, run, begin, std::min(stretch, floats - begin));
      }
    });
    return {};
  }

 private:
  // Computes `count` voxels of a run, from its voxel `begin` on.
  void compute(std::span<const TensorView> inputs, const TensorView& out, const Run& run, std::size_t begin,
               std::size_t count) const {
    const std::span<float> to = run_of(out, run).subspan(begin, count);
    const float* weights = kernels_.data() + run.block * conv_.in.f;
    Run channel = run;
    for (channel.block = 0; channel.block < conv_.in.f; ++channel.block) {
      const std::span<const float> from = run_of(inputs[0], channel).subspan(begin, count);
      if (channel.block == 0) {
        scale(from, weights[0], bias_[static_cast<std::size_t>(run.block)], to);
      } else {
        add_scaled(from, weights[channel.block], to);
      }
    }
    if (conv_.residual) accumulate(run_of(inputs[1], run).subspan(begin, count), to);
    activate(conv_.activation, to);
  }

  ConvProblem conv_;
  std::span<const float> kernels_;
  std::span<const float> bias_;
  Executor& executor_;
};

Result<std::unique_ptr<PreparedLayer>> prepare_pointwise(const LayerProblem& problem, const Estimate&,
                                                         const LayerWeights& weights, Arena& persistent,
                                                         Device& device) {
  const std::span<float> kernels = persistent.grant_as<float>("kernels");
  const std::span<float> bias = persistent.grant_as<float>("bias");
  copy_padded(weights.kernels, kernels);
  copy_padded(weights.bias, bias);
  const auto& conv = std::get<ConvProblem>(problem);
  return std::unique_ptr<PreparedLayer>(std::make_unique<ConvPointwise>(conv, kernels, bias, device.executor()));
}

}  // namespace

extern constinit const Primitive conv_pointwise{pointwise_name, 2, DeviceKind::cpu, &describe_pointwise,
                                                &prepare_pointwise};

}  // namespace znni::cpu
