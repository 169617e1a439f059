// cuda.global_pool: the largest or the mean of all voxels of each channel, at every voxel. Sums are in float64.
#include "primitives/cuda/elementwise/moments_layer.hpp"
#include "primitives/gpu/elementwise/moments_view.hpp"
#include "primitives/gpu/estimates.hpp"

namespace znni::cuda {
namespace {

constexpr std::string_view global_pool_name = "cuda.global_pool";

Result<std::vector<Estimate>> describe_global_pool(const LayerProblem& problem, const DeviceSpec& spec) {
  if (!std::holds_alternative<GlobalPoolProblem>(problem))
    return refusal(global_pool_name, "poolings of all voxels", problem);
  return describe_moments(global_pool_name, problem, spec, 1.0);
}

Result<std::unique_ptr<PreparedLayer>> prepare_global_pool(const LayerProblem& problem, const Estimate&,
                                                           const LayerWeights&, Arena&, Device& device) {
  return make_moments_layer(device, groups_arg(std::get<GlobalPoolProblem>(problem)), {});
}

}  // namespace

extern constinit const Primitive global_pool{global_pool_name, 1, DeviceKind::gpu, &describe_global_pool,
                                             &prepare_global_pool};

}  // namespace znni::cuda
