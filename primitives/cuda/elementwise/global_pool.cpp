// cuda.global_pool: the largest or the mean of all voxels of each channel, at every voxel. Sums are in float64.
#include "primitives/cuda/elementwise/moments_layer.hpp"
#include "primitives/gpu/elementwise/moments_view.hpp"
#include "primitives/gpu/estimates.hpp"

namespace znni::cuda {
namespace {

constexpr std::string_view name = "cuda.global_pool";

Result<std::vector<Estimate>> describe(const LayerProblem& problem, const DeviceSpec& spec) {
  if (!std::holds_alternative<GlobalPoolProblem>(problem)) return refusal(name, "poolings of all voxels", problem);
  return describe_moments(name, problem, spec, 1.0);
}

Result<std::unique_ptr<PreparedLayer>> prepare(const LayerProblem& problem, const Estimate&, const LayerWeights&,
                                               Arena&, Device& device) {
  return make_moments_layer(device, groups_arg(std::get<GlobalPoolProblem>(problem)), {});
}

}  // namespace

extern constinit const Primitive global_pool{name, 1, DeviceKind::gpu, &describe, &prepare};

}  // namespace znni::cuda
