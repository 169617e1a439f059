// cuda.softmax: softmax over the channels of each voxel, or its logarithm.
#include "primitives/cuda/elementwise/across_layer.hpp"
#include "primitives/gpu/estimates.hpp"

namespace znni::cuda {
namespace {

constexpr std::string_view softmax_name = "cuda.softmax";
constexpr double reads = 3.0;  // across_element.hpp

Result<std::vector<Estimate>> describe_softmax(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* across = std::get_if<AcrossChannelsProblem>(&problem);
  const bool suits =
      across != nullptr && (across->kind == AcrossKind::softmax || across->kind == AcrossKind::log_softmax);
  if (!suits) return refusal(softmax_name, "softmaxes and their logarithms", problem);
  return streaming_estimates(softmax_name, problem, spec, reads);
}

}  // namespace

extern constinit const Primitive softmax{softmax_name, 1, DeviceKind::gpu, &describe_softmax, &prepare_across};

}  // namespace znni::cuda
