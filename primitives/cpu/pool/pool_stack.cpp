// cpu.pool.stack: poolings of stride 1 and what follows them voxel by voxel, depth first. The variant's `depth` is the
// number of poolings that a row passes at once; between such chunks whole tensors lie in scratch memory.
#include <algorithm>

#include "primitives/core/volume_layer.hpp"
#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/pool/stack_model.hpp"
#include "primitives/cpu/pool/stack_stream.hpp"

namespace znni::cpu {
namespace {

constexpr std::string_view depth_name = "depth";
constexpr std::string_view rows_name = "rows";

// Returns the name of the tensor that lies before a chunk; two take turns.
std::string between_name(std::size_t chunk) { return "between " + std::to_string(chunk % 2); }

// Returns the shape of what a chunk writes.
Shape5 written_by(std::span<const StackLevel> chunk, const Shape5& in) { return {in.S, in.f, chunk.back().out}; }

std::vector<std::int64_t> depths_of(std::int64_t poolings) {
  std::vector<std::int64_t> depths;
  for (const std::int64_t depth : {1, 2, 4, 8, 16, 32}) {
    if (depth < poolings) depths.push_back(depth);
  }
  depths.push_back(std::max<std::int64_t>(poolings, 1));
  return depths;
}

// What a chunk reads and writes.
struct Tensors {
  Shape5 in;
  Shape5 out;
};

// Returns the time of a chunk. Its rows wait for memory, of which a line that is written is read before.
Seconds time_of(std::span<const StackLevel> levels, const StackChunk& chunk, const Tensors& tensors, Format format,
                const DeviceSpec& spec) {
  const double bytes = static_cast<double>(tensor_bytes(tensors.in, format)) +
                       2.0 * static_cast<double>(tensor_bytes(tensors.out, format));
  double flops = scalar_flops(cycles_of(chunk, spec) * spec.threads, spec);
  for (const StackLevel& level : levels) {
    if (level.activation.kind == ActivationKind::relu) continue;
    const Shape5 shape{tensors.in.S, tensors.in.f, level.out};
    flops += activation_flops(level.activation, spec) * static_cast<double>(elements(shape));
  }
  return modelled_time(spec, flops, 1.0, 0.0) + bytes / spec.bytes_per_second;
}

Estimate estimate_of(const StackProblem& stack, Format format, std::int64_t depth, const DeviceSpec& spec) {
  const std::vector<StackLevel> levels = levels_of(stack);
  const std::vector<std::span<const StackLevel>> chunks = chunks_of(levels, depth);
  Estimate estimate;
  estimate.variant = {{std::string(depth_name), depth}};
  estimate.in = format;
  estimate.out = format;
  estimate.memory = input_output_buffers(stack, format, format);
  std::int64_t rows = 0;
  std::int64_t between[2] = {0, 0};
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const StackChunk chunk = divided(chunks[i], stack.in, format, spec);
    rows = std::max(rows, floats_of(chunk));
    const Shape5 in{stack.in.S, stack.in.f, chunks[i].front().in};
    const Shape5 out = written_by(chunks[i], stack.in);
    estimate.time += time_of(chunks[i], chunk, {in, out}, format, spec);
    if (i + 1 < chunks.size()) between[i % 2] = std::max(between[i % 2], tensor_bytes(out, format));
  }
  estimate.memory.push_back(
      {std::string(rows_name), MemorySpace::host, float_bytes(mul(spec.threads, rows)), Lifetime::stages(0, 0)});
  for (std::size_t i = 0; i < 2; ++i) {
    if (between[i] == 0) continue;
    estimate.memory.push_back({between_name(i), MemorySpace::host, between[i], Lifetime::stages(0, 0)});
  }
  return estimate;
}

Result<std::vector<Estimate>> describe(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* stack = std::get_if<StackProblem>(&problem);
  if (stack == nullptr) return refusal("cpu.pool.stack", "stacks of poolings", problem);
  std::vector<Estimate> estimates;
  for (const Format format : float_formats(spec)) {
    for (const std::int64_t depth : depths_of(poolings_of(levels_of(*stack)))) {
      estimates.push_back(estimate_of(*stack, format, depth, spec));
    }
  }
  return estimates;
}

class StackLayer final : public VolumeLayer {
 public:
  StackLayer(const StackProblem& stack, const Estimate& chosen, const LayerWeights& weights, Device& device)
      : stack_(stack),
        format_(chosen.in),
        levels_(levels_of(stack)),
        chunks_(chunks_of(levels_, setting(chosen.variant, depth_name, 1))),
        weights_(weights),
        kernels_(stack_kernels(device.spec().simd_floats)),
        executor_(device.executor()) {
    for (const std::span<const StackLevel> chunk : chunks_) {
      divided_.push_back(divided(chunk, stack.in, format_, device.spec()));
      floats_ = std::max(floats_, floats_of(divided_.back()));
    }
    place({}, {});
  }

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena& arena) override {
    const std::span<float> rows = arena.grant_as<float>(rows_name);
    float* between[2] = {nullptr, nullptr};
    for (std::size_t i = 0; i < std::min<std::size_t>(chunks_.size() - 1, 2); ++i) {
      between[i] = arena.grant_as<float>(between_name(i)).data();
    }
    TensorView in = inputs[0];
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
      const bool is_last = i + 1 == chunks_.size();
      const TensorView to = is_last ? out : dense_view(between[i % 2], written_by(chunks_[i], stack_.in), format_);
      run_chunk(i, in, to, rows);
      in = to;
    }
    return {};
  }

  void place(std::span<const Vec3> starts, Vec3 whole) override {
    own_.clear();
    for (std::int64_t s = 0; s < stack_.in.S; ++s) {
      own_.push_back(starts.empty() ? whole_boxes(levels_)
                                    : own_boxes(levels_, starts[static_cast<std::size_t>(s)], whole));
    }
  }

 private:
  void run_chunk(std::size_t index, const TensorView& in, const TensorView& out, std::span<float> rows) const {
    const StackChunk& chunk = divided_[index];
    const auto parts = static_cast<std::int64_t>(chunk.parts.size());
    const std::int64_t width = block_width(format_.layout);
    const std::int64_t blocks = div_up(stack_.in.f, width);
    const auto first_level = static_cast<std::size_t>(chunks_[index].data() - levels_.data());
    executor_.parallel_for(chunk.blocks * parts, [&](std::int64_t task, int worker) {
      const std::int64_t s = task / parts / blocks;
      const auto own = std::span(own_[static_cast<std::size_t>(s)]).subspan(first_level, chunks_[index].size() + 1);
      const StackBlock block{in, out, s, task / parts % blocks * width, own, weights_.scale, weights_.shift};
      stream_stack(chunk.parts[static_cast<std::size_t>(task % parts)], block, kernels_,
                   rows.data() + worker * floats_);
    });
  }

  StackProblem stack_;
  Format format_;
  std::vector<StackLevel> levels_;
  std::vector<std::span<const StackLevel>> chunks_;
  std::vector<StackChunk> divided_;
  std::int64_t floats_ = 0;
  LayerWeights weights_;
  const StackKernels& kernels_;
  Executor& executor_;
  std::vector<std::vector<StackBox>> own_;  // of each input (S)
};

Result<std::unique_ptr<PreparedLayer>> prepare(const LayerProblem& problem, const Estimate& chosen,
                                               const LayerWeights& weights, Arena&, Device& device) {
  return std::unique_ptr<PreparedLayer>(
      std::make_unique<StackLayer>(std::get<StackProblem>(problem), chosen, weights, device));
}

}  // namespace

extern constinit const Primitive pool_stack{"cpu.pool.stack", 2, DeviceKind::cpu, &describe, &prepare};

}  // namespace znni::cpu
