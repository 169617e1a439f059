// cuda.reorder: planar to channels last and back, and float32 to and from half types, in one pass over the tensor.
#include "primitives/cuda/device/cuda_device.hpp"
#include "primitives/cuda/device/status.hpp"
#include "primitives/cuda/kernels/reorder_kernel.hpp"
#include "primitives/gpu/estimates.hpp"
#include "primitives/gpu/views.hpp"

namespace znni::cuda {
namespace {

constexpr std::string_view reorder_name = "cuda.reorder";

bool has_layout(Format format) { return format.layout == Layout::planar || format.layout == Layout::channels_last; }
bool is_float(ElementType type) {
  return type == ElementType::f32 || type == ElementType::f16 || type == ElementType::bf16;
}

bool takes(const ReorderProblem& problem) {
  return problem.from != problem.to && has_layout(problem.from) && has_layout(problem.to) &&
         is_float(problem.from.type) && (is_float(problem.to.type) || problem.to.type == ElementType::u8);
}

Result<std::vector<Estimate>> describe_reorder(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* reorder = std::get_if<ReorderProblem>(&problem);
  if (reorder == nullptr || !takes(*reorder)) {
    return refusal(reorder_name, "reorders of float types between planar and channels last, and from them to u8",
                   problem);
  }
  if (Result<void> gpu = check_gpu(reorder_name, spec); !gpu) return gpu.error();
  Estimate estimate;
  estimate.in = reorder->from;
  estimate.out = reorder->to;
  estimate.memory = input_output_buffers(problem, reorder->from, reorder->to, 0, MemorySpace::device);
  estimate.time = modelled_time(spec, 0.0, tensor_traffic(problem, reorder->from, reorder->to));
  return std::vector<Estimate>{std::move(estimate)};
}

class ReorderLayer final : public PreparedLayer {
 public:
  explicit ReorderLayer(CudaDevice& device) : device_(device) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena&) override {
    if (Result<void> current = device_.activate(); !current) return current;
    const TensorView& in = inputs[0];
    const ReorderArg arg{in.shape.S,
                         in.shape.f,
                         extent_of(in.shape.n),
                         steps_of(in.strides),
                         steps_of(out.strides),
                         in.format.layout == Layout::planar,
                         out.format.layout == Layout::planar};
    return check(launch_reorder(arg, storage_of(in.format.type), in.data, storage_of(out.format.type), out.data,
                                device_.stream(Stream::compute)),
                 "reorder kernel");
  }

 private:
  CudaDevice& device_;
};

}  // namespace

extern constinit const Primitive reorder{reorder_name, 1, DeviceKind::gpu, &describe_reorder,
                                         &prepare_bare<ReorderLayer>};

}  // namespace znni::cuda
