// cuda.multiply: the product of two tensors, for gates. The second may have one channel, which multiplies every
// channel.
#include "primitives/cuda/elementwise/pairs_layer.hpp"
#include "primitives/gpu/estimates.hpp"

namespace znni::cuda {
namespace {

constexpr std::string_view multiply_name = "cuda.multiply";

Result<std::vector<Estimate>> describe_multiply(const LayerProblem& problem, const DeviceSpec& spec) {
  if (!std::holds_alternative<MultiplyProblem>(problem))
    return refusal(multiply_name, "products of two tensors", problem);
  return streaming_estimates(multiply_name, problem, spec);
}

Result<std::unique_ptr<PreparedLayer>> prepare_multiply(const LayerProblem&, const Estimate&, const LayerWeights&,
                                                        Arena&, Device& device) {
  return make_pairs_layer(device, false);
}

}  // namespace

extern constinit const Primitive multiply{multiply_name, 1, DeviceKind::gpu, &describe_multiply, &prepare_multiply};

}  // namespace znni::cuda
