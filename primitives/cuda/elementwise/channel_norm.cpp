// cuda.channel_norm: layer normalisation of the channels of each voxel.
#include "primitives/cuda/elementwise/across_layer.hpp"
#include "primitives/gpu/estimates.hpp"

namespace znni::cuda {
namespace {

constexpr std::string_view name = "cuda.channel_norm";
constexpr double reads = 3.0;  // across_element.hpp

Result<std::vector<Estimate>> describe(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* across = std::get_if<AcrossChannelsProblem>(&problem);
  if (across == nullptr || across->kind != AcrossKind::norm) {
    return refusal(name, "normalisations of the channels of voxels", problem);
  }
  return streaming_estimates(name, problem, spec, reads);
}

}  // namespace

extern constinit const Primitive channel_norm{name, 1, DeviceKind::gpu, &describe, &prepare_across};

}  // namespace znni::cuda
