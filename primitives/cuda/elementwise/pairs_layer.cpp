#include "primitives/cuda/elementwise/pairs_layer.hpp"

#include "primitives/cuda/device/cuda_device.hpp"
#include "primitives/cuda/device/status.hpp"
#include "primitives/cuda/kernels/elementwise_kernel.hpp"
#include "primitives/gpu/elementwise/multiply_view.hpp"
#include "primitives/gpu/views.hpp"

namespace znni::cuda {
namespace {

class PairsLayer final : public PreparedLayer {
 public:
  PairsLayer(CudaDevice& device, bool divides) : device_(device), divides_(divides) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena&) override {
    if (Result<void> current = device_.activate(); !current) return current;
    const MultiplyArg arg = multiply_arg(inputs[0], inputs[1], out, divides_);
    return check(launch_multiply(arg, storage_of(out.format.type), device_.stream(Stream::compute)),
                 "kernel of two tensors");
  }

 private:
  CudaDevice& device_;
  bool divides_;
};

}  // namespace

Result<std::unique_ptr<PreparedLayer>> make_pairs_layer(Device& device, bool divides) {
  const Result<CudaDevice*> cuda = as_cuda(device);
  if (!cuda) return cuda.error();
  return std::unique_ptr<PreparedLayer>(std::make_unique<PairsLayer>(**cuda, divides));
}

}  // namespace znni::cuda
