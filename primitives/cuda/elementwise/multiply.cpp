// cuda.multiply: the product of two tensors, for gates. The second may have one channel, which multiplies every
// channel.
#include "primitives/cuda/device/cuda_device.hpp"
#include "primitives/cuda/device/status.hpp"
#include "primitives/cuda/kernels/elementwise_kernel.hpp"
#include "primitives/gpu/elementwise/multiply_view.hpp"
#include "primitives/gpu/estimates.hpp"
#include "primitives/gpu/views.hpp"

namespace znni::cuda {
namespace {

constexpr std::string_view multiply_name = "cuda.multiply";

Result<std::vector<Estimate>> describe_multiply(const LayerProblem& problem, const DeviceSpec& spec) {
  if (!std::holds_alternative<MultiplyProblem>(problem))
    return refusal(multiply_name, "products of two tensors", problem);
  return streaming_estimates(multiply_name, problem, spec);
}

class MultiplyLayer final : public PreparedLayer {
 public:
  explicit MultiplyLayer(CudaDevice& device) : device_(device) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena&) override {
    if (Result<void> current = device_.activate(); !current) return current;
    const MultiplyArg arg = multiply_arg(inputs[0], inputs[1], out);
    return check(launch_multiply(arg, storage_of(out.format.type), device_.stream(Stream::compute)),
                 "multiplying kernel");
  }

 private:
  CudaDevice& device_;
};

}  // namespace

extern constinit const Primitive multiply{multiply_name, 1, DeviceKind::gpu, &describe_multiply,
                                          &prepare_bare<MultiplyLayer>};

}  // namespace znni::cuda
