// cuda.crop: a tensor without its border: one copying kernel on a view that begins inside.
#include "primitives/cuda/device/cuda_device.hpp"
#include "primitives/cuda/device/status.hpp"
#include "primitives/cuda/kernels/elementwise_kernel.hpp"
#include "primitives/gpu/estimates.hpp"
#include "primitives/gpu/views.hpp"

namespace znni::cuda {
namespace {

constexpr std::string_view crop_name = "cuda.crop";

Result<std::vector<Estimate>> describe_crop(const LayerProblem& problem, const DeviceSpec& spec) {
  if (!std::holds_alternative<CropProblem>(problem)) return refusal(crop_name, "crops", problem);
  return streaming_estimates(crop_name, problem, spec);
}

class CropLayer final : public PreparedLayer {
 public:
  CropLayer(Vec3 begin, CudaDevice& device) : begin_(begin), device_(device) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena&) override {
    if (Result<void> current = device_.activate(); !current) return current;
    TensorView from = inputs[0];
    const std::int64_t skipped = begin_.z * from.strides.z + begin_.y * from.strides.y + begin_.x * from.strides.x;
    auto* const bytes = reinterpret_cast<std::byte*>(from.data);
    from.data = reinterpret_cast<float*>(bytes + skipped * element_bytes(from.format.type));
    from.shape.n = out.shape.n;
    const ElementwiseArg arg = elementwise_arg({&from, 1}, out, {});
    const cudaError_t status = launch_elementwise(arg, storage_of(out.format.type), device_.stream(Stream::compute));
    return check(status, "cropping kernel");
  }

 private:
  Vec3 begin_;
  CudaDevice& device_;
};

Result<std::unique_ptr<PreparedLayer>> prepare_crop(const LayerProblem& problem, const Estimate&, const LayerWeights&,
                                                    Arena&, Device& device) {
  const Result<CudaDevice*> cuda = as_cuda(device);
  if (!cuda) return cuda.error();
  return std::unique_ptr<PreparedLayer>(std::make_unique<CropLayer>(std::get<CropProblem>(problem).begin, **cuda));
}

}  // namespace

extern constinit const Primitive crop{crop_name, 1, DeviceKind::gpu, &describe_crop, &prepare_crop};

}  // namespace znni::cuda
