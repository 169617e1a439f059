// cuda.channel_norm: layer normalisation of the channels of each voxel.
#include "primitives/cuda/elementwise/across_layer.hpp"
#include "primitives/gpu/estimates.hpp"

namespace znni::cuda {
namespace {

constexpr std::string_view channel_norm_name = "cuda.channel_norm";
constexpr double reads = 3.0;  // across_element.hpp

Result<std::vector<Estimate>> describe_channel_norm(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* across = std::get_if<AcrossChannelsProblem>(&problem);
  if (across == nullptr || across->kind != AcrossKind::norm) {
    return refusal(channel_norm_name, "normalisations of the channels of voxels", problem);
  }
  return streaming_estimates(channel_norm_name, problem, spec, reads);
}

}  // namespace

extern constinit const Primitive channel_norm{channel_norm_name, 1, DeviceKind::gpu, &describe_channel_norm,
                                              &prepare_across};

}  // namespace znni::cuda
