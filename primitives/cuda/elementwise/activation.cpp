// cuda.activation: out = activation(in).
#include "primitives/cuda/elementwise/elementwise_layer.hpp"
#include "primitives/gpu/estimates.hpp"

namespace znni::cuda {
namespace {

constexpr std::string_view activation_name = "cuda.activation";

Result<std::vector<Estimate>> describe_activation(const LayerProblem& problem, const DeviceSpec& spec) {
  if (!std::holds_alternative<ActivationProblem>(problem)) return refusal(activation_name, "activations", problem);
  return streaming_estimates(activation_name, problem, spec);
}

Result<std::unique_ptr<PreparedLayer>> prepare_activation(const LayerProblem& problem, const Estimate&,
                                                          const LayerWeights&, Arena&, Device& device) {
  return make_elementwise_layer(device, std::get<ActivationProblem>(problem).activation);
}

}  // namespace

extern constinit const Primitive activation{activation_name, 1, DeviceKind::gpu, &describe_activation,
                                            &prepare_activation};

}  // namespace znni::cuda
