#include "primitives/cuda/elementwise/elementwise_layer.hpp"

#include <algorithm>
#include <vector>

#include "primitives/cuda/device/status.hpp"
#include "primitives/cuda/kernels/elementwise_kernel.hpp"
#include "primitives/gpu/views.hpp"

namespace znni::cuda {
namespace {

class ElementwiseLayer final : public PreparedLayer {
 public:
  ElementwiseLayer(CudaDevice& device, Activation activation, const PerChannel& of)
      : device_(device), activation_(activation), of_(of) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena&) override {
    if (Result<void> current = device_.activate(); !current) return current;
    ElementwiseArg arg = elementwise_arg(inputs, out, activation_);
    arg.of = of_;
    return check(launch_elementwise(arg, storage_of(out.format.type), device_.stream(Stream::compute)),
                 "elementwise kernel");
  }

 private:
  CudaDevice& device_;
  Activation activation_;
  PerChannel of_;
};

}  // namespace

Result<std::unique_ptr<PreparedLayer>> make_elementwise_layer(Device& device, Activation activation,
                                                              const PerChannel& of) {
  const Result<CudaDevice*> cuda = as_cuda(device);
  if (!cuda) return cuda.error();
  return std::unique_ptr<PreparedLayer>(std::make_unique<ElementwiseLayer>(**cuda, activation, of));
}

Result<float*> load_floats(CudaDevice& device, Arena& persistent, std::string_view name,
                           std::span<const float> values) {
  const std::span<std::byte> block = persistent.grant(name);
  std::vector<float> padded(block.size() / sizeof(float), 0.0F);
  ensure(values.size() <= padded.size(), "a persistent buffer is as large as declared");
  std::copy(values.begin(), values.end(), padded.begin());
  if (Result<void> written = device.write(block.data(), std::as_bytes(std::span(padded))); !written) {
    return written.error();
  }
  return reinterpret_cast<float*>(block.data());
}

}  // namespace znni::cuda
