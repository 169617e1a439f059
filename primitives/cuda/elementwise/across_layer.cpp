#include "primitives/cuda/elementwise/across_layer.hpp"

#include "primitives/cuda/device/cuda_device.hpp"
#include "primitives/cuda/device/status.hpp"
#include "primitives/cuda/kernels/across_kernel.hpp"
#include "primitives/gpu/views.hpp"

namespace znni::cuda {
namespace {

class AcrossLayer final : public PreparedLayer {
 public:
  AcrossLayer(const AcrossChannelsProblem& problem, CudaDevice& device) : problem_(problem), device_(device) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena&) override {
    if (Result<void> current = device_.activate(); !current) return current;
    const TensorView& in = inputs[0];
    const AcrossArg arg{in.shape.S,
                        in.shape.f,
                        extent_of(in.shape.n),
                        steps_of(in.strides),
                        steps_of(out.strides),
                        static_cast<Across>(problem_.kind),
                        problem_.epsilon};
    return check(launch_across(arg, storage_of(out.format.type), in.data, out.data, device_.stream(Stream::compute)),
                 "kernel across channels");
  }

 private:
  AcrossChannelsProblem problem_;
  CudaDevice& device_;
};

}  // namespace

Result<std::unique_ptr<PreparedLayer>> prepare_across(const LayerProblem& problem, const Estimate&, const LayerWeights&,
                                                      Arena&, Device& device) {
  const Result<CudaDevice*> cuda = as_cuda(device);
  if (!cuda) return cuda.error();
  const auto& across = std::get<AcrossChannelsProblem>(problem);
  return std::unique_ptr<PreparedLayer>(std::make_unique<AcrossLayer>(across, **cuda));
}

}  // namespace znni::cuda
