// cuda.upsample: a tensor with more voxels per axis, repeated, made of channels or interpolated: all kinds in one
// kernel.
#include <array>

#include "primitives/cuda/device/cuda_device.hpp"
#include "primitives/cuda/device/status.hpp"
#include "primitives/cuda/kernels/upsample_kernel.hpp"
#include "primitives/gpu/elementwise/upsample_view.hpp"
#include "primitives/gpu/estimates.hpp"
#include "primitives/gpu/views.hpp"

namespace znni::cuda {
namespace {

constexpr std::string_view upsample_name = "cuda.upsample";

Result<std::vector<Estimate>> describe_upsample(const LayerProblem& problem, const DeviceSpec& spec) {
  if (!std::holds_alternative<UpsampleProblem>(problem)) return refusal(upsample_name, "upsamplings", problem);
  if (Result<void> rows = check_rows(output_shape(problem)); !rows) {
    return Error{rows.error().code, std::string(upsample_name) + " " + rows.error().message};
  }
  return streaming_estimates(upsample_name, problem, spec);
}

class UpsampleLayer final : public PreparedLayer {
 public:
  UpsampleLayer(const UpsampleProblem& upsample, CudaDevice& device) : upsample_(upsample), device_(device) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena&) override {
    if (Result<void> current = device_.activate(); !current) return current;
    const std::array<TensorView, 2> views = {inputs[0], out};
    const int width = out.format.layout == Layout::planar ? 1 : vector_width(views);
    return check(launch_upsample(upsample_arg(upsample_, inputs[0], out, width), storage_of(out.format.type), width,
                                 inputs[0].data, out.data, device_.stream(Stream::compute)),
                 "upsampling kernel");
  }

 private:
  UpsampleProblem upsample_;
  CudaDevice& device_;
};

Result<std::unique_ptr<PreparedLayer>> prepare_upsample(const LayerProblem& problem, const Estimate&,
                                                        const LayerWeights&, Arena&, Device& device) {
  const Result<CudaDevice*> cuda = as_cuda(device);
  if (!cuda) return cuda.error();
  const auto& upsample = std::get<UpsampleProblem>(problem);
  return std::unique_ptr<PreparedLayer>(std::make_unique<UpsampleLayer>(upsample, **cuda));
}

}  // namespace

extern constinit const Primitive upsample{upsample_name, 1, DeviceKind::gpu, &describe_upsample, &prepare_upsample};

}  // namespace znni::cuda
