// cuda.arg_max: the number of the largest channel of each voxel. If several are equal, it is the first, or the last.
#include "primitives/cuda/elementwise/across_layer.hpp"
#include "primitives/gpu/estimates.hpp"

namespace znni::cuda {
namespace {

constexpr std::string_view arg_max_name = "cuda.arg_max";

// Offers float32 alone: in bf16 numbers above 256 are rounded, and channels that differ become equal.
Result<std::vector<Estimate>> describe_arg_max(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* across = std::get_if<AcrossChannelsProblem>(&problem);
  if (across == nullptr || !makes_one_channel(across->kind)) {
    return refusal(arg_max_name, "numbers of largest channels", problem);
  }
  Result<std::vector<Estimate>> estimates = streaming_estimates(arg_max_name, problem, spec);
  if (estimates) std::erase_if(*estimates, [](const Estimate& each) { return each.in.type != ElementType::f32; });
  return estimates;
}

}  // namespace

extern constinit const Primitive arg_max{arg_max_name, 1, DeviceKind::gpu, &describe_arg_max, &prepare_across};

}  // namespace znni::cuda
