// cuda.norm: instance and group normalisation. Its input is read twice: for sums in float64, so that they do not
// cancel, then for the output.
#include "primitives/cuda/elementwise/elementwise_layer.hpp"
#include "primitives/cuda/elementwise/moments_layer.hpp"
#include "primitives/gpu/elementwise/moments_view.hpp"
#include "primitives/gpu/estimates.hpp"

namespace znni::cuda {
namespace {

constexpr std::string_view norm_name = "cuda.norm";

Result<std::vector<Estimate>> describe_norm(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* norm = std::get_if<NormProblem>(&problem);
  if (norm == nullptr || norm->kind != NormKind::deviation) {
    return refusal(norm_name, "instance and group normalisations", problem);
  }
  Result<std::vector<Estimate>> estimates = describe_moments(norm_name, problem, spec, 2.0);
  if (!estimates) return estimates;
  for (Estimate& estimate : *estimates) {
    for (const char* buffer : {"scale", "shift"}) {
      estimate.memory.push_back({buffer, MemorySpace::device, float_bytes(norm->in.f), Lifetime::plan()});
    }
  }
  return estimates;
}

Result<std::unique_ptr<PreparedLayer>> prepare_norm(const LayerProblem& problem, const Estimate&,
                                                    const LayerWeights& weights, Arena& persistent, Device& device) {
  const auto& norm = std::get<NormProblem>(problem);
  const Result<CudaDevice*> cuda = as_cuda(device);
  if (!cuda) return cuda.error();
  const Result<float*> scale = load_floats(**cuda, persistent, "scale", weights.scale);
  if (!scale) return scale.error();
  const Result<float*> shift = load_floats(**cuda, persistent, "shift", weights.shift);
  if (!shift) return shift.error();
  GroupsArg groups = groups_arg(norm);
  groups.scale = *scale;
  groups.shift = *shift;
  return make_moments_layer(device, groups, norm.activation);
}

}  // namespace

extern constinit const Primitive norm{norm_name, 1, DeviceKind::gpu, &describe_norm, &prepare_norm};

}  // namespace znni::cuda
