// cuda.arg_max: the number of the largest channel of each voxel. If several are equal, it is the first, or the last.
#include "primitives/cuda/elementwise/across_layer.hpp"
#include "primitives/gpu/estimates.hpp"

namespace znni::cuda {
namespace {

constexpr std::string_view name = "cuda.arg_max";

// Offers float32 alone: in bf16 numbers above 256 are rounded, and channels that differ become equal.
Result<std::vector<Estimate>> describe(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* across = std::get_if<AcrossChannelsProblem>(&problem);
  if (across == nullptr || !makes_one_channel(across->kind)) {
    return refusal(name, "numbers of largest channels", problem);
  }
  Result<std::vector<Estimate>> estimates = streaming_estimates(name, problem, spec);
  if (estimates) std::erase_if(*estimates, [](const Estimate& each) { return each.in.type != ElementType::f32; });
  return estimates;
}

}  // namespace

extern constinit const Primitive arg_max{name, 1, DeviceKind::gpu, &describe, &prepare_across};

}  // namespace znni::cuda
