// cuda.scale_shift: out = scale[i] in + shift[i], a batch normalisation that could not be folded.
#include "primitives/cuda/elementwise/elementwise_layer.hpp"
#include "primitives/gpu/estimates.hpp"

namespace znni::cuda {
namespace {

constexpr std::string_view scale_shift_name = "cuda.scale_shift";

Result<std::vector<Estimate>> describe_scale_shift(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* scale_shift = std::get_if<ScaleShiftProblem>(&problem);
  if (scale_shift == nullptr) return refusal(scale_shift_name, "scales and shifts", problem);
  Result<std::vector<Estimate>> estimates = streaming_estimates(scale_shift_name, problem, spec);
  if (!estimates) return estimates;
  for (Estimate& estimate : *estimates) {
    for (const char* buffer : {"scale", "shift"}) {
      estimate.memory.push_back({buffer, MemorySpace::device, float_bytes(scale_shift->in.f), Lifetime::plan()});
    }
  }
  return estimates;
}

Result<std::unique_ptr<PreparedLayer>> prepare_scale_shift(const LayerProblem&, const Estimate&,
                                                           const LayerWeights& weights, Arena& persistent,
                                                           Device& device) {
  const Result<CudaDevice*> cuda = as_cuda(device);
  if (!cuda) return cuda.error();
  const Result<float*> scale = load_floats(**cuda, persistent, "scale", weights.scale);
  if (!scale) return scale.error();
  const Result<float*> shift = load_floats(**cuda, persistent, "shift", weights.shift);
  if (!shift) return shift.error();
  return make_elementwise_layer(device, {}, {*scale, *shift});
}

}  // namespace

extern constinit const Primitive scale_shift{scale_shift_name, 1, DeviceKind::gpu, &describe_scale_shift,
                                             &prepare_scale_shift};

}  // namespace znni::cuda
