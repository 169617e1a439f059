// cuda.divide: the quotient of two tensors. The second may have one channel, which divides every channel.
#include "primitives/cuda/elementwise/pairs_layer.hpp"
#include "primitives/gpu/estimates.hpp"

namespace znni::cuda {
namespace {

constexpr std::string_view name = "cuda.divide";

Result<std::vector<Estimate>> describe(const LayerProblem& problem, const DeviceSpec& spec) {
  if (!std::holds_alternative<DivideProblem>(problem)) return refusal(name, "quotients of two tensors", problem);
  return streaming_estimates(name, problem, spec);
}

Result<std::unique_ptr<PreparedLayer>> prepare(const LayerProblem&, const Estimate&, const LayerWeights&, Arena&,
                                               Device& device) {
  return make_pairs_layer(device, true);
}

}  // namespace

extern constinit const Primitive divide{name, 1, DeviceKind::gpu, &describe, &prepare};

}  // namespace znni::cuda
