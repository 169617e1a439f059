// cuda.add: out = activation(in0 + in1 + ...), up to eight inputs in one pass.
#include "primitives/cuda/elementwise/elementwise_layer.hpp"
#include "primitives/gpu/elementwise/elementwise_element.hpp"
#include "primitives/gpu/estimates.hpp"

namespace znni::cuda {
namespace {

constexpr std::string_view add_name = "cuda.add";

Result<std::vector<Estimate>> describe_add(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* sum = std::get_if<AddProblem>(&problem);
  if (sum == nullptr || sum->inputs > max_inputs) {
    return refusal(add_name, "additions of up to " + std::to_string(max_inputs) + " tensors", problem);
  }
  return streaming_estimates(add_name, problem, spec);
}

Result<std::unique_ptr<PreparedLayer>> prepare_add(const LayerProblem& problem, const Estimate&, const LayerWeights&,
                                                   Arena&, Device& device) {
  return make_elementwise_layer(device, std::get<AddProblem>(problem).activation);
}

}  // namespace

extern constinit const Primitive add{add_name, 1, DeviceKind::gpu, &describe_add, &prepare_add};

}  // namespace znni::cuda
