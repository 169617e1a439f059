#include "primitives/cuda/elementwise/moments_layer.hpp"

#include "primitives/cuda/device/cuda_device.hpp"
#include "primitives/cuda/device/status.hpp"
#include "primitives/cuda/kernels/moments_kernel.hpp"
#include "primitives/gpu/elementwise/moments_view.hpp"
#include "primitives/gpu/estimates.hpp"
#include "primitives/gpu/views.hpp"

namespace znni::cuda {
namespace {

constexpr std::string_view parts_name = "sums of parts";
constexpr std::string_view factors_name = "factors";

Buffer scratch(std::string_view name, std::int64_t count, std::size_t bytes) {
  return {std::string(name), MemorySpace::device, mul(count, static_cast<std::int64_t>(bytes)), Lifetime::stages(0, 0)};
}

class MomentsLayer final : public PreparedLayer {
 public:
  MomentsLayer(CudaDevice& device, const GroupsArg& groups, Activation activation)
      : device_(device), groups_(groups), activation_(activation) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena& arena) override {
    if (Result<void> current = device_.activate(); !current) return current;
    const TensorView& in = inputs[0];
    Moments* const parts = arena.grant_as<Moments>(parts_name).data();
    ChannelFactors* const factors = arena.grant_as<ChannelFactors>(factors_name).data();
    cudaStream_t const stream = device_.stream(Stream::compute);
    const Storage storage = storage_of(in.format.type);
    const cudaError_t added = launch_moments(moments_arg(in, groups_.joining), storage, in.data, parts, stream);
    if (Result<void> launched = check(added, "kernel of sums"); !launched) return launched;
    const cudaError_t found = launch_groups(groups_, parts, factors, stream);
    if (Result<void> launched = check(found, "kernel of factors"); !launched) return launched;
    const TensorView* const again = groups_.scale != nullptr ? &in : nullptr;
    return check(launch_factors(factors_arg(again, out, factors, activation_), storage, stream), "kernel by factors");
  }

 private:
  CudaDevice& device_;
  GroupsArg groups_;
  Activation activation_;
};

}  // namespace

Result<std::vector<Estimate>> describe_moments(std::string_view primitive, const LayerProblem& problem,
                                               const DeviceSpec& spec, double reads) {
  Result<std::vector<Estimate>> estimates = streaming_estimates(primitive, problem, spec);
  if (!estimates) return estimates;
  const Shape5 shape = input_shape(problem, 0);
  const std::int64_t channels = mul(shape.S, shape.f);
  for (Estimate& estimate : *estimates) {
    estimate.memory.push_back(scratch(parts_name, mul(channels, moments_parts(shape)), sizeof(Moments)));
    estimate.memory.push_back(scratch(factors_name, channels, sizeof(ChannelFactors)));
    const auto read = static_cast<double>(tensor_bytes(shape, estimate.in));
    estimate.time =
        modelled_time(spec, 0.0, tensor_traffic(problem, estimate.in, estimate.out) + (reads - 1.0) * read, 3);
  }
  return estimates;
}

Result<std::unique_ptr<PreparedLayer>> make_moments_layer(Device& device, const GroupsArg& groups,
                                                          Activation activation) {
  const Result<CudaDevice*> cuda = as_cuda(device);
  if (!cuda) return cuda.error();
  return std::unique_ptr<PreparedLayer>(std::make_unique<MomentsLayer>(**cuda, groups, activation));
}

}  // namespace znni::cuda
