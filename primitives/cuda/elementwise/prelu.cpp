// cuda.prelu: out = in above 0, else slope[i] in, with a slope for each channel.
#include "primitives/cuda/elementwise/elementwise_layer.hpp"
#include "primitives/gpu/estimates.hpp"

namespace znni::cuda {
namespace {

constexpr std::string_view prelu_name = "cuda.prelu";

Result<std::vector<Estimate>> describe_prelu(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* prelu = std::get_if<PReluProblem>(&problem);
  if (prelu == nullptr) return refusal(prelu_name, "rectifiers with a slope for each channel", problem);
  Result<std::vector<Estimate>> estimates = streaming_estimates(prelu_name, problem, spec);
  if (!estimates) return estimates;
  for (Estimate& estimate : *estimates) {
    estimate.memory.push_back({"slopes", MemorySpace::device, float_bytes(prelu->in.f), Lifetime::plan()});
  }
  return estimates;
}

Result<std::unique_ptr<PreparedLayer>> prepare_prelu(const LayerProblem&, const Estimate&, const LayerWeights& weights,
                                                     Arena& persistent, Device& device) {
  const Result<CudaDevice*> cuda = as_cuda(device);
  if (!cuda) return cuda.error();
  const Result<float*> slopes = load_floats(**cuda, persistent, "slopes", weights.scale);
  if (!slopes) return slopes.error();
  return make_elementwise_layer(device, {}, {nullptr, nullptr, *slopes});
}

}  // namespace

extern constinit const Primitive prelu{prelu_name, 1, DeviceKind::gpu, &describe_prelu, &prepare_prelu};

}  // namespace znni::cuda
