// cuda.conv.first_pool: direct convolution of few channels with the max pooling behind it, fragments or plain, by one
// kernel of our own: the channels between the two, the largest tensor of many a net, are neither written nor held. Bias
// and activation fused, from planar float32 to any format a plan goes on in.
#include "primitives/cuda/device/cuda_device.hpp"
#include "primitives/cuda/device/status.hpp"
#include "primitives/cuda/elementwise/elementwise_layer.hpp"
#include "primitives/cuda/kernels/first_pool_kernel.hpp"
#include "primitives/gpu/estimates.hpp"
#include "primitives/gpu/first_pool_view.hpp"
#include "primitives/gpu/first_view.hpp"
#include "primitives/gpu/views.hpp"

namespace znni::cuda {
namespace {

constexpr std::string_view first_pool_name = "cuda.conv.first_pool";
constexpr std::int64_t max_channels = 4;

// Share of the arithmetic units' rate. Assumed until measured.
constexpr double share_of_float32 = 0.45;

Estimate estimate_first_pool(const ConvPoolProblem& both, const FirstPoolArg& arg, const DeviceSpec& spec, Format out) {
  Estimate result{{}, planar_f32, out, 0, input_output_buffers(both, planar_f32, out, 0, MemorySpace::device)};
  const std::int64_t taps = mul(both.conv.in.f, voxels(both.conv.k));
  const std::int64_t padded = first_padded(both.conv.f_out);
  const double flops = 2.0 * first_pool_voxels(arg) * static_cast<double>(mul(taps, padded));
  result.time =
      modelled_time(spec, flops / (share_of_float32 * spec.flops_per_second), tensor_traffic(both, planar_f32, out));
  result.memory.push_back({"kernels", MemorySpace::device, float_bytes(mul(taps, padded)), Lifetime::plan()});
  result.memory.push_back({"bias", MemorySpace::device, float_bytes(padded), Lifetime::plan()});
  return result;
}

Result<void> check_windows(const LayerProblem& problem) {
  const auto* both = std::get_if<ConvPoolProblem>(&problem);
  const bool taken = both != nullptr && both->conv.in.f <= max_channels && both->pool.kind == PoolKind::max &&
                     both->pool.dilation == Vec3::cube(1) && covers(Vec3::cube(first_pool_window), both->pool.window);
  if (taken && !is_plain(both->conv)) return refusal(first_pool_name, "convolutions without stride or groups", problem);
  if (taken) return {};
  return refusal(first_pool_name,
                 "convolutions of up to " + std::to_string(max_channels) +
                     " channels with a max pooling behind them, of windows up to " + std::to_string(first_pool_window),
                 problem);
}

Result<std::vector<Estimate>> describe_first_pool(const LayerProblem& problem, const DeviceSpec& spec) {
  if (Result<void> windows = check_windows(problem); !windows) return windows.error();
  if (Result<void> gpu = check_gpu(first_pool_name, spec); !gpu) return gpu.error();
  const auto& both = std::get<ConvPoolProblem>(problem);
  const FirstPoolArg arg = first_pool_arg(both, dense_view(nullptr, both.conv.in, planar_f32),
                                          dense_view(nullptr, output_shape(both), planar_f32));
  if (first_pool_blocks(arg) > max_first_pool_blocks) return refusal(first_pool_name, "up to 2^31 - 1 tiles", problem);
  std::vector<Estimate> estimates;
  for (const Format out : gpu_formats(spec)) estimates.push_back(estimate_first_pool(both, arg, spec, out));
  return estimates;
}

class FirstPoolLayer final : public PreparedLayer {
 public:
  FirstPoolLayer(const ConvPoolProblem& both, CudaDevice& device, const float* weights, const float* bias)
      : both_(both), device_(device), weights_(weights), bias_(bias) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena&) override {
    if (Result<void> current = device_.activate(); !current) return current;
    return check(launch_first_pool(first_pool_arg(both_, inputs[0], out), storage_of(out.format.type), inputs[0].data,
                                   weights_, bias_, out.data, device_.stream(Stream::compute)),
                 "kernel of a first layer that is pooled");
  }

 private:
  ConvPoolProblem both_;
  CudaDevice& device_;
  const float* weights_;
  const float* bias_;
};

Result<std::unique_ptr<PreparedLayer>> prepare_first_pool(const LayerProblem& problem, const Estimate&,
                                                          const LayerWeights& weights, Arena& persistent,
                                                          Device& device) {
  const auto& both = std::get<ConvPoolProblem>(problem);
  const Result<CudaDevice*> cuda = as_cuda(device);
  if (!cuda) return cuda.error();
  const Result<float*> kernels = load_floats(**cuda, persistent, "kernels", first_weights(both.conv, weights.kernels));
  if (!kernels) return kernels.error();
  const Result<float*> bias = load_floats(**cuda, persistent, "bias", weights.bias);
  if (!bias) return bias.error();
  return std::unique_ptr<PreparedLayer>(std::make_unique<FirstPoolLayer>(both, **cuda, *kernels, *bias));
}

}  // namespace

extern constinit const Primitive conv_first_pool{first_pool_name, 1, DeviceKind::gpu, &describe_first_pool,
                                                 &prepare_first_pool};

}  // namespace znni::cuda
