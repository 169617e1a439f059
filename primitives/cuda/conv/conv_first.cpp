// cuda.conv.first: direct convolution of few channels by a kernel of our own, from planar float32 to any format a plan
// goes on in, bias and activation fused. For first layers: cuDNN has no matrix units for one channel, and none at all
// where a channel of the output passes 2^31 elements.
#include "primitives/cuda/device/cuda_device.hpp"
#include "primitives/cuda/device/status.hpp"
#include "primitives/cuda/elementwise/elementwise_layer.hpp"
#include "primitives/cuda/kernels/first_kernel.hpp"
#include "primitives/gpu/estimates.hpp"
#include "primitives/gpu/first_view.hpp"
#include "primitives/gpu/views.hpp"

namespace znni::cuda {
namespace {

constexpr std::string_view first_name = "cuda.conv.first";
constexpr std::int64_t max_channels = 4;

// Share of the arithmetic units' rate. Assumed until measured.
constexpr double first_share_of_float32 = 0.5;

Estimate estimate_first(const ConvProblem& conv, const DeviceSpec& spec, Format out) {
  Estimate result{{}, planar_f32, out, 0, input_output_buffers(conv, planar_f32, out, 0, MemorySpace::device)};
  ConvProblem padded = conv;
  padded.f_out = first_padded(conv.f_out);
  result.time = modelled_time(spec, direct_flops(padded) / (first_share_of_float32 * spec.flops_per_second),
                              tensor_traffic(conv, planar_f32, out));
  const std::int64_t taps = mul(conv.in.f, voxels(conv.k));
  result.memory.push_back({"kernels", MemorySpace::device, float_bytes(mul(taps, padded.f_out)), Lifetime::plan()});
  result.memory.push_back({"bias", MemorySpace::device, float_bytes(padded.f_out), Lifetime::plan()});
  return result;
}

Result<std::vector<Estimate>> describe_first(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* conv = std::get_if<ConvProblem>(&problem);
  if (conv == nullptr || conv->in.f > max_channels || conv->residual) {
    return refusal(first_name, "convolutions of up to " + std::to_string(max_channels) + " channels without a residual",
                   problem);
  }
  if (!is_plain(*conv)) return refusal(first_name, "convolutions without stride or groups", problem);
  if (Result<void> gpu = check_gpu(first_name, spec); !gpu) return gpu.error();
  for (const Shape5& shape : {conv->in, output_shape(*conv)}) {
    if (Result<void> rows = check_rows(shape); !rows) {
      return Error{rows.error().code, std::string(first_name) + " " + rows.error().message};
    }
  }
  std::vector<Estimate> estimates;
  for (const Format out : gpu_formats(spec)) estimates.push_back(estimate_first(*conv, spec, out));
  return estimates;
}

class FirstLayer final : public PreparedLayer {
 public:
  FirstLayer(const ConvProblem& conv, CudaDevice& device, const float* weights, const float* bias)
      : conv_(conv), device_(device), weights_(weights), bias_(bias) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena&) override {
    if (Result<void> current = device_.activate(); !current) return current;
    return check(launch_first(first_arg(conv_, inputs[0], out), storage_of(out.format.type), inputs[0].data, weights_,
                              bias_, out.data, device_.stream(Stream::compute)),
                 "first layer's kernel");
  }

 private:
  ConvProblem conv_;
  CudaDevice& device_;
  const float* weights_;
  const float* bias_;
};

Result<std::unique_ptr<PreparedLayer>> prepare_first(const LayerProblem& problem, const Estimate&,
                                                     const LayerWeights& weights, Arena& persistent, Device& device) {
  const auto& conv = std::get<ConvProblem>(problem);
  const Result<CudaDevice*> cuda = as_cuda(device);
  if (!cuda) return cuda.error();
  const Result<float*> kernels = load_floats(**cuda, persistent, "kernels", first_weights(conv, weights.kernels));
  if (!kernels) return kernels.error();
  const Result<float*> bias = load_floats(**cuda, persistent, "bias", weights.bias);
  if (!bias) return bias.error();
  return std::unique_ptr<PreparedLayer>(std::make_unique<FirstLayer>(conv, **cuda, *kernels, *bias));
}

}  // namespace

extern constinit const Primitive conv_first{first_name, 1, DeviceKind::gpu, &describe_first, &prepare_first};

}  // namespace znni::cuda
