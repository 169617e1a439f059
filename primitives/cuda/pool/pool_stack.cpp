// cuda.pool.stack: poolings of stride 1 and what follows them voxel by voxel, `depth` poolings in a launch, in a
// block's memory. Between launches the whole tensor lies in scratch.
#include <array>

#include "primitives/cuda/device/cuda_device.hpp"
#include "primitives/cuda/device/status.hpp"
#include "primitives/cuda/elementwise/elementwise_layer.hpp"
#include "primitives/cuda/kernels/stack_kernel.hpp"
#include "primitives/gpu/estimates.hpp"
#include "primitives/gpu/stack_view.hpp"
#include "primitives/gpu/views.hpp"

namespace znni::cuda {
namespace {

constexpr std::string_view name = "cuda.pool.stack";
constexpr std::string_view scale_name = "scale";
constexpr std::string_view shift_name = "shift";
constexpr std::array<std::string_view, 2> scratch_names = {"even launches", "odd launches"};
// Operations of arithmetic in whose time a block's memory takes one access, and the share of that rate which is
// reached. Assumed until measured.
constexpr double flops_per_access = 8.0;
constexpr double access_share = 0.5;

Seconds time_of(const StackProblem& stack, const StackChunk& chunk, Format format, const DeviceSpec& spec) {
  const double flops = stack_accesses(stack, chunk) * flops_per_access / access_share;
  const auto bytes = static_cast<double>(tensor_bytes(chunk.in, format) + tensor_bytes(chunk.out, format));
  return modelled_time(spec, flops / spec.flops_per_second, bytes);
}

// Sets variant, time and memory, which streaming_estimates() has for one launch.
void set_depth(Estimate& estimate, const StackProblem& stack, int depth, std::span<const StackChunk> chunks,
               const DeviceSpec& spec) {
  estimate.variant = {{"depth", depth}};
  estimate.time = 0;
  std::array<std::int64_t, 2> scratch = {0, 0};
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    estimate.time += time_of(stack, chunks[i], estimate.in, spec);
    if (i + 1 == chunks.size()) continue;
    scratch[i % 2] = std::max(scratch[i % 2], tensor_bytes(chunks[i].out, estimate.in));
  }
  for (std::size_t i = 0; i < scratch.size(); ++i) {
    if (scratch[i] == 0) continue;
    estimate.memory.push_back({std::string(scratch_names[i]), MemorySpace::device, scratch[i], Lifetime::stages(0, 0)});
  }
  if (scaled_stages(stack) == 0) return;
  for (const std::string_view buffer : {scale_name, shift_name}) {
    const std::int64_t bytes = float_bytes(mul(scaled_stages(stack), stack.in.f));
    estimate.memory.push_back({std::string(buffer), MemorySpace::device, bytes, Lifetime::plan()});
  }
}

Result<std::vector<Estimate>> describe(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* stack = std::get_if<StackProblem>(&problem);
  if (stack == nullptr) return refusal(name, "stacks of poolings", problem);
  const Result<std::vector<Estimate>> formats = streaming_estimates(name, problem, spec);
  if (!formats) return formats;
  std::vector<Estimate> estimates;
  const int links = stack_links(*stack);
  for (const Estimate& of_format : *formats) {
    for (const int depth : {1, 2, 3, 4, 5, 6, 8}) {
      if (depth > std::min(links, max_stack_links)) continue;
      const std::vector<StackChunk> chunks = stack_chunks(*stack, depth, of_format.in.layout);
      if (chunks.empty()) continue;
      estimates.push_back(of_format);
      set_depth(estimates.back(), *stack, depth, chunks, spec);
    }
  }
  return estimates;
}

class StackLayer final : public PreparedLayer {
 public:
  StackLayer(const StackProblem& stack, std::vector<StackChunk> chunks, const StackWeights& weights, CudaDevice& device)
      : stack_(stack), chunks_(std::move(chunks)), weights_(weights), device_(device) {}

  void place(std::span<const Vec3> starts, Vec3 whole) override { placed_ = {{starts.begin(), starts.end()}, whole}; }

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena& arena) override {
    if (Result<void> current = device_.activate(); !current) return current;
    std::array<float*, 2> scratch = {nullptr, nullptr};
    for (std::size_t i = 0; i < scratch.size() && i + 1 < chunks_.size(); ++i) {
      scratch[i] = arena.grant_as<float>(scratch_names[i]).data();
    }
    TensorView from = inputs[0];
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
      const bool is_last = i + 1 == chunks_.size();
      const TensorView to = is_last ? out : dense_view(scratch[i % 2], chunks_[i].out, out.format);
      if (Result<void> launched = run_chunk(chunks_[i], from, to); !launched) return launched;
      from = to;
    }
    return {};
  }

 private:
  Result<void> run_chunk(const StackChunk& chunk, const TensorView& in, const TensorView& out) {
    for (std::int64_t s = 0; s < stack_.in.S;) {
      StackArg arg = stack_arg(stack_, chunk, placed_, weights_, s);
      arg.in_steps = steps_of(in.strides);
      arg.out_steps = steps_of(out.strides);
      const cudaError_t status = launch_stack(arg, storage_of(out.format.type), at_input(in, s), at_input(out, s),
                                              device_.stream(Stream::compute));
      if (Result<void> launched = check(status, "kernel of stacks"); !launched) return launched;
      s += arg.S;
    }
    return {};
  }

  static std::byte* at_input(const TensorView& view, std::int64_t s) {
    return reinterpret_cast<std::byte*>(view.data) + s * view.strides.S * element_bytes(view.format.type);
  }

  StackProblem stack_;
  std::vector<StackChunk> chunks_;
  StackWeights weights_;
  StackStarts placed_;
  CudaDevice& device_;
};

Result<std::unique_ptr<PreparedLayer>> prepare(const LayerProblem& problem, const Estimate& chosen,
                                               const LayerWeights& weights, Arena& persistent, Device& device) {
  const Result<CudaDevice*> cuda = as_cuda(device);
  if (!cuda) return cuda.error();
  const auto& stack = std::get<StackProblem>(problem);
  StackWeights own;
  if (scaled_stages(stack) > 0) {
    const Result<float*> scale = load_floats(**cuda, persistent, scale_name, weights.scale);
    if (!scale) return scale.error();
    const Result<float*> shift = load_floats(**cuda, persistent, shift_name, weights.shift);
    if (!shift) return shift.error();
    own = {*scale, *shift};
  }
  const auto depth = static_cast<int>(setting(chosen.variant, "depth", 1));
  return std::unique_ptr<PreparedLayer>(
      std::make_unique<StackLayer>(stack, stack_chunks(stack, depth, chosen.in.layout), own, **cuda));
}

}  // namespace

extern constinit const Primitive pool_stack{name, 1, DeviceKind::gpu, &describe, &prepare};

}  // namespace znni::cuda
