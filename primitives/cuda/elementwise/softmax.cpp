// cuda.softmax: softmax over the images of each voxel, one thread per voxel.
#include "primitives/cuda/device/cuda_device.hpp"
#include "primitives/cuda/device/status.hpp"
#include "primitives/cuda/kernels/elementwise_kernel.hpp"
#include "primitives/gpu/estimates.hpp"
#include "primitives/gpu/views.hpp"

namespace znni::cuda {
namespace {

constexpr std::string_view name = "cuda.softmax";

Result<std::vector<Estimate>> describe(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* across = std::get_if<AcrossChannelsProblem>(&problem);
  if (across == nullptr || across->kind != AcrossKind::softmax) return refusal(name, "softmaxes", problem);
  return streaming_estimates(name, problem, spec);
}

class SoftmaxLayer final : public PreparedLayer {
 public:
  explicit SoftmaxLayer(CudaDevice& device) : device_(device) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena&) override {
    if (Result<void> current = device_.activate(); !current) return current;
    const SoftmaxArg arg{out.shape.S, out.shape.f, extent_of(out.shape.n), steps_of(inputs[0].strides),
                         steps_of(out.strides)};
    return check(
        launch_softmax(arg, storage_of(out.format.type), inputs[0].data, out.data, device_.stream(Stream::compute)),
        "softmax kernel");
  }

 private:
  CudaDevice& device_;
};

}  // namespace

extern constinit const Primitive softmax{name, 1, DeviceKind::gpu, &describe, &prepare_bare<SoftmaxLayer>};

}  // namespace znni::cuda
