// cuda.activation: out = activation(in).
#include "primitives/cuda/elementwise/elementwise_layer.hpp"
#include "primitives/gpu/estimates.hpp"

namespace znni::cuda {
namespace {

constexpr std::string_view name = "cuda.activation";

Result<std::vector<Estimate>> describe(const LayerProblem& problem, const DeviceSpec& spec) {
  if (!std::holds_alternative<ActivationProblem>(problem)) return refusal(name, "activations", problem);
  return streaming_estimates(name, problem, spec);
}

Result<std::unique_ptr<PreparedLayer>> prepare(const LayerProblem& problem, const Estimate&, const LayerWeights&,
                                               Arena&, Device& device) {
  return make_elementwise_layer(device, std::get<ActivationProblem>(problem).activation);
}

}  // namespace

extern constinit const Primitive activation{name, 1, DeviceKind::gpu, &describe, &prepare};

}  // namespace znni::cuda
