// cuda.conv.direct: convolutions with strides or groups, depthwise ones among them, by a kernel of our own; float32
// sums in every format. cuDNN takes them, too; this one needs no library.
#include "primitives/cuda/device/cuda_device.hpp"
#include "primitives/cuda/device/status.hpp"
#include "primitives/cuda/elementwise/elementwise_layer.hpp"
#include "primitives/cuda/kernels/direct_kernel.hpp"
#include "primitives/gpu/direct_view.hpp"
#include "primitives/gpu/estimates.hpp"
#include "primitives/gpu/views.hpp"

namespace znni::cuda {
namespace {

constexpr std::string_view direct_name = "cuda.conv.direct";

// Share of the arithmetic units' rate: each product waits for a load. Assumed until measured.
constexpr double direct_share_of_float32 = 0.15;

Estimate estimate_direct(const ConvProblem& conv, const DeviceSpec& spec, Format format) {
  Estimate result{{}, format, format, 0, input_output_buffers(conv, format, format, 0, MemorySpace::device)};
  const std::int64_t padded = direct_padded(conv);
  const double flops = direct_flops(conv) / static_cast<double>(conv.f_out) * static_cast<double>(padded);
  result.time = modelled_time(spec, flops / (direct_share_of_float32 * spec.flops_per_second),
                              tensor_traffic(conv, format, format));
  const std::int64_t weights = float_bytes(mul(terms_of(conv), padded));
  result.memory.push_back({"kernels", MemorySpace::device, weights, Lifetime::plan()});
  result.memory.push_back({"bias", MemorySpace::device, float_bytes(padded), Lifetime::plan()});
  return result;
}

Result<std::vector<Estimate>> describe_direct(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* conv = std::get_if<ConvProblem>(&problem);
  if (conv == nullptr || is_plain(*conv)) return refusal(direct_name, "convolutions with strides or groups", problem);
  if (Result<void> gpu = check_gpu(direct_name, spec); !gpu) return gpu.error();
  for (const Shape5& shape : {conv->in, output_shape(*conv)}) {
    if (Result<void> rows = check_rows(shape); !rows) {
      return Error{rows.error().code, std::string(direct_name) + " " + rows.error().message};
    }
  }
  std::vector<Estimate> estimates;
  for (const Format format : gpu_formats(spec)) estimates.push_back(estimate_direct(*conv, spec, format));
  return estimates;
}

class DirectLayer final : public PreparedLayer {
 public:
  DirectLayer(const ConvProblem& conv, CudaDevice& device, const float* weights, const float* bias)
      : conv_(conv), device_(device), weights_(weights), bias_(bias) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena&) override {
    if (Result<void> current = device_.activate(); !current) return current;
    const void* const residual = conv_.residual ? inputs[1].data : nullptr;
    return check(launch_direct(direct_arg(conv_, inputs, out), storage_of(out.format.type), direct_channels(conv_),
                               {inputs[0].data, residual, weights_, bias_, out.data}, device_.stream(Stream::compute)),
                 "direct convolution's kernel");
  }

 private:
  ConvProblem conv_;
  CudaDevice& device_;
  const float* weights_;
  const float* bias_;
};

Result<std::unique_ptr<PreparedLayer>> prepare_direct(const LayerProblem& problem, const Estimate&,
                                                      const LayerWeights& weights, Arena& persistent, Device& device) {
  const auto& conv = std::get<ConvProblem>(problem);
  const Result<CudaDevice*> cuda = as_cuda(device);
  if (!cuda) return cuda.error();
  const Result<float*> kernels = load_floats(**cuda, persistent, "kernels", direct_weights(conv, weights.kernels));
  if (!kernels) return kernels.error();
  const Result<float*> bias = load_floats(**cuda, persistent, "bias", direct_bias(conv, weights.bias));
  if (!bias) return bias.error();
  return std::unique_ptr<PreparedLayer>(std::make_unique<DirectLayer>(conv, **cuda, *kernels, *bias));
}

}  // namespace

extern constinit const Primitive conv_direct{direct_name, 1, DeviceKind::gpu, &describe_direct, &prepare_direct};

}  // namespace znni::cuda
