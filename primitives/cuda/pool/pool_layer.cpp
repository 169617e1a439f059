#include "primitives/cuda/pool/pool_layer.hpp"

#include "primitives/cuda/device/cuda_device.hpp"
#include "primitives/cuda/device/status.hpp"
#include "primitives/cuda/kernels/pool_kernel.hpp"
#include "primitives/gpu/estimates.hpp"
#include "primitives/gpu/pool_view.hpp"
#include "primitives/gpu/views.hpp"

namespace znni::cuda {
namespace {

class PoolLayer final : public PreparedLayer {
 public:
  PoolLayer(const PoolProblem& pool, CudaDevice& device) : pool_(pool), device_(device) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena&) override {
    if (Result<void> current = device_.activate(); !current) return current;
    const int width = pool_width(inputs[0], out);
    return check(launch_pool(pool_arg(pool_, inputs[0], out, width), storage_of(out.format.type), width, inputs[0].data,
                             out.data, device_.stream(Stream::compute)),
                 "pooling kernel");
  }

 private:
  PoolProblem pool_;
  CudaDevice& device_;
};

}  // namespace

Result<std::vector<Estimate>> describe_pool(std::string_view primitive, const PoolProblem& pool,
                                            const DeviceSpec& spec) {
  return streaming_estimates(primitive, pool, spec);
}

Result<std::unique_ptr<PreparedLayer>> prepare_pool(const LayerProblem& problem, const Estimate&, const LayerWeights&,
                                                    Arena&, Device& device) {
  const Result<CudaDevice*> cuda = as_cuda(device);
  if (!cuda) return cuda.error();
  return std::unique_ptr<PreparedLayer>(std::make_unique<PoolLayer>(std::get<PoolProblem>(problem), **cuda));
}

}  // namespace znni::cuda
