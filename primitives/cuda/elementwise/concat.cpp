// cuda.concat: the channels of all inputs, one input after the other; one copying kernel per input.
#include "primitives/cuda/device/cuda_device.hpp"
#include "primitives/cuda/device/status.hpp"
#include "primitives/cuda/kernels/elementwise_kernel.hpp"
#include "primitives/gpu/estimates.hpp"
#include "primitives/gpu/views.hpp"

namespace znni::cuda {
namespace {

constexpr std::string_view concat_name = "cuda.concat";

Result<std::vector<Estimate>> describe_concat(const LayerProblem& problem, const DeviceSpec& spec) {
  if (!std::holds_alternative<ConcatProblem>(problem)) return refusal(concat_name, "concatenations", problem);
  if (Result<void> rows = check_rows(output_shape(problem)); !rows) {
    return Error{rows.error().code, std::string(concat_name) + " " + rows.error().message};
  }
  return streaming_estimates(concat_name, problem, spec);
}

// Returns the channels of `out` from `first` on that input `in` becomes.
TensorView part_of(const TensorView& out, std::int64_t first, const TensorView& in) {
  TensorView part = out;
  auto* const bytes = reinterpret_cast<std::byte*>(out.data);
  part.data = reinterpret_cast<float*>(bytes + first * out.strides.f * element_bytes(out.format.type));
  part.shape.f = in.shape.f;
  return part;
}

class ConcatLayer final : public PreparedLayer {
 public:
  explicit ConcatLayer(CudaDevice& device) : device_(device) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena&) override {
    if (Result<void> current = device_.activate(); !current) return current;
    std::int64_t first = 0;
    for (const TensorView& in : inputs) {
      const ElementwiseArg arg = elementwise_arg({&in, 1}, part_of(out, first, in), {});
      const cudaError_t status = launch_elementwise(arg, storage_of(out.format.type), device_.stream(Stream::compute));
      if (Result<void> launched = check(status, "concatenation kernel"); !launched) return launched;
      first += in.shape.f;
    }
    return {};
  }

 private:
  CudaDevice& device_;
};

}  // namespace

extern constinit const Primitive concat{concat_name, 1, DeviceKind::gpu, &describe_concat, &prepare_bare<ConcatLayer>};

}  // namespace znni::cuda
