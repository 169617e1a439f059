// Direct convolution in bf16 by oneDNN, on processors with AVX512_BF16: inputs and weights are rounded to bf16, sums
// are in float32. Tensors stay in float32, in blocks of 16 channels. Each worker takes one slab after the other: it
// rounds what the slab reads, computes, and copies the output.
#include <algorithm>
#include <utility>

#include "primitives/cpu/conv/bf16_rows.hpp"
#include "primitives/cpu/conv/bf16_slabs.hpp"
#include "primitives/cpu/conv/onednn_convolution.hpp"
#include "primitives/cpu/vectors/activate.hpp"

namespace znni::cpu {
namespace {

constexpr std::string_view name = "cpu.conv.onednn_bf16";

constexpr std::string_view weights_name = "rounded weights";
constexpr std::string_view bias_name = "bias";
constexpr std::string_view workspace_name = "library workspace";
constexpr std::string_view rounded_name = "rounded slabs";
constexpr std::string_view output_slabs_name = "slabs of the output";

constexpr Format rounded_format{ElementType::bf16, Layout::blocked16};
constexpr Format summed_format{ElementType::f32, Layout::blocked16};

// Bytes of each worker's share of a buffer.
struct Shares {
  std::int64_t rounded = 0;
  std::int64_t output = 0;
  std::int64_t workspace = 0;
};

Shares shares_of(const Bf16Slabs& slabs, const OnednnConvolution& convolution) {
  const auto whole = [](std::int64_t bytes) { return round_up(bytes, buffer_alignment); };
  return {whole(slabs.rounded_bytes()), whole(slabs.output_bytes()), whole(convolution.workspace_bytes())};
}

// Calls `function` for each row of a dense blocked tensor, from the row `first` of each block on: with the block's
// first channel, the row's z and y, and its offset in elements.
template <class Function>
void for_each_row(const Shape5& shape, Vec3 first, const Function& function) {
  for (std::int64_t j = 0; j < shape.f; j += bf16_block) {
    for (std::int64_t z = first.z; z < shape.n.z; ++z) {
      for (std::int64_t y = first.y; y < shape.n.y; ++y) {
        const std::int64_t row = (j / bf16_block * shape.n.z + z) * shape.n.y + y;
        function(j, Vec3{z, y, 0}, row * shape.n.x * bf16_block);
      }
    }
  }
}

// A part of the output: its first voxel, and the first that no other part writes.
struct Part {
  std::int64_t s = 0;
  Vec3 begin;
  Vec3 own;
};

class Bf16Layer final : public PreparedLayer {
 public:
  Bf16Layer(Bf16Slabs slabs, OnednnConvolution convolution, std::span<const std::byte> weights,
            std::span<const float> bias, Executor& executor)
      : slabs_(std::move(slabs)),
        convolution_(std::move(convolution)),
        shares_(shares_of(slabs_, convolution_)),
        weights_(weights),
        bias_(bias),
        executor_(executor) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena& arena) override {
    const std::span<std::byte> rounded = arena.grant(rounded_name);
    const std::span<std::byte> output = arena.grant(output_slabs_name);
    const std::span<std::byte> workspace = shares_.workspace > 0 ? arena.grant(workspace_name) : std::span<std::byte>();
    std::vector<Result<void>> done(static_cast<std::size_t>(executor_.workers()));
    executor_.parallel_for(out.shape.S * voxels(slabs_.pieces), [&](std::int64_t index, int worker) {
      const Scratch scratch{reinterpret_cast<std::uint16_t*>(rounded.data() + worker * shares_.rounded),
                            reinterpret_cast<float*>(output.data() + worker * shares_.output),
                            workspace.data() + worker * shares_.workspace};
      const Result<void> computed = compute(inputs, out, part(out, index), scratch);
      if (!computed) done[static_cast<std::size_t>(worker)] = computed;
    });
    const auto failed = std::find_if(done.begin(), done.end(), [](const Result<void>& one) { return !one; });
    return failed == done.end() ? Result<void>() : *failed;
  }

 private:
  struct Scratch {
    std::uint16_t* rounded;
    float* output;
    std::byte* workspace;
  };

  [[nodiscard]] Part part(const TensorView& out, std::int64_t index) const {
    const Vec3 size = output_shape(slabs_.slab).n;
    const Vec3 number{index / slabs_.pieces.y % slabs_.pieces.z, index % slabs_.pieces.y, 0};
    Part part{index / voxels(slabs_.pieces), {}, number * size};
    for (int axis = 0; axis < 3; ++axis) part.begin[axis] = std::min(part.own[axis], out.shape.n[axis] - size[axis]);
    return part;
  }

  Result<void> compute(std::span<const TensorView> inputs, const TensorView& out, const Part& part,
                       const Scratch& scratch) {
    round_input(inputs[0], part, scratch.rounded);
    if (slabs_.slab.residual) fill_output(inputs[1], part, scratch.output);
    Result<void> done =
        convolution_.run({scratch.rounded, nullptr, weights_.data(), bias_.data(), scratch.output, scratch.workspace});
    if (!done) return done;
    if (!OnednnConvolution::fuses(slabs_.slab.activation.kind)) {
      activate(slabs_.slab.activation, {scratch.output, static_cast<std::size_t>(slabs_.output_bytes() / 4)});
    }
    copy_output(scratch.output, out, part);
    return {};
  }

  void round_input(const TensorView& in, const Part& part, std::uint16_t* to) const {
    const Vec3 start = slabs_.slab.stride * part.begin;
    for_each_row(slabs_.slab.in, {}, [&](std::int64_t j, Vec3 row, std::int64_t offset) {
      round_to_bf16(&in.at(part.s, j, start + row), in.strides.x, to + offset, slabs_.slab.in.n.x);
    });
  }

  void fill_output(const TensorView& residual, const Part& part, float* to) const {
    const Shape5 shape = output_shape(slabs_.slab);
    for_each_row(shape, {}, [&](std::int64_t j, Vec3 row, std::int64_t offset) {
      const float* const from = &residual.at(part.s, j, part.begin + row);
      copy_blocks(from, residual.strides.x, to + offset, bf16_block, shape.n.x, bf16_block);
    });
  }

  // Copies the rows that no other part writes.
  void copy_output(const float* from, const TensorView& out, const Part& part) const {
    const Shape5 shape = output_shape(slabs_.slab);
    for_each_row(shape, part.own - part.begin, [&](std::int64_t j, Vec3 row, std::int64_t offset) {
      float* const to = &out.at(part.s, j, part.begin + row);
      copy_blocks(from + offset, bf16_block, to, out.strides.x, shape.n.x, out.shape.f - j);
    });
  }

  Bf16Slabs slabs_;
  OnednnConvolution convolution_;
  Shares shares_;
  std::span<const std::byte> weights_;
  std::span<const float> bias_;
  Executor& executor_;
};

Result<OnednnConvolution> convolution_of(const Bf16Slabs& slabs) {
  return OnednnConvolution::describe(slabs.slab, rounded_format, summed_format, 1);  // each worker computes alone
}

bool has_bf16(const DeviceSpec& spec) { return spec.simd_floats == 16 && spec.accelerator.bf16_flops_per_second > 0; }

// The library's code for bf16 was wrong for other strides once.
bool has_usual_strides(const ConvProblem& problem) {
  constexpr std::int64_t max_stride = 2;
  for (int axis = 0; axis < 3; ++axis) {
    if (problem.stride[axis] > std::min(max_stride, problem.k[axis])) return false;
  }
  return true;
}

bool takes(const ConvProblem* conv) { return conv != nullptr && conv->groups == 1 && has_usual_strides(*conv); }

// Returns what describe() may offer.
std::vector<Estimate> outline(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* conv = std::get_if<ConvProblem>(&problem);
  if (!takes(conv) || !has_bf16(spec)) return {};
  const Format blocked = blocked_format(spec);
  return {{{{"bf16", 1}}, blocked, blocked, seconds_in(choose_slabs(*conv, spec), *conv, spec), {}}};
}

Result<std::vector<Estimate>> describe(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* conv = std::get_if<ConvProblem>(&problem);
  if (!takes(conv)) {
    return refusal(name, "convolutions without groups, with strides of at most 2 that leave no voxel out", problem);
  }
  if (!has_bf16(spec)) {
    return Error{ErrorCode::unsupported, std::string(name) + " needs AVX512_BF16, which this processor lacks"};
  }
  const Bf16Slabs slabs = choose_slabs(*conv, spec);
  const Result<OnednnConvolution> described = convolution_of(slabs);
  if (!described) return described.error().within(name);
  std::vector<Estimate> estimates = outline(problem, spec);
  MemoryPlan& memory = estimates.front().memory;
  memory = input_output_buffers(problem, estimates.front().in, estimates.front().out);
  const auto declare = [&](std::string_view buffer, std::int64_t bytes, Lifetime lifetime) {
    if (bytes > 0) memory.push_back({std::string(buffer), MemorySpace::host, bytes, lifetime});
  };
  const Shares shares = shares_of(slabs, *described);
  declare(weights_name, described->weights_bytes(), Lifetime::plan());
  declare(bias_name, float_bytes(conv->f_out), Lifetime::plan());
  declare(workspace_name, mul(spec.threads, shares.workspace), Lifetime::stages(0, 0));
  declare(rounded_name, mul(spec.threads, shares.rounded), Lifetime::stages(0, 0));
  declare(output_slabs_name, mul(spec.threads, shares.output), Lifetime::stages(0, 0));
  return estimates;
}

Result<std::unique_ptr<PreparedLayer>> prepare(const LayerProblem& problem, const Estimate&,
                                               const LayerWeights& weights, Arena& persistent, Device& device) {
  const auto* conv = std::get_if<ConvProblem>(&problem);
  ensure(conv != nullptr, "describe() refuses what is no convolution");
  const Bf16Slabs slabs = choose_slabs(*conv, device.spec());
  Result<OnednnConvolution> made = convolution_of(slabs);
  if (!made) return made.error().within(name);
  if (Result<void> built = made->build(); !built) return built.error().within(name);
  const std::span<std::byte> rounded = persistent.grant(weights_name);
  ensure(static_cast<std::int64_t>(rounded.size()) == made->weights_bytes(),
         "weights are as large as they were described");
  if (Result<void> done = made->reorder_weights(weights.kernels.data(), rounded.data()); !done) {
    return done.error().within(name);
  }
  const std::span<float> bias = persistent.grant_as<float>(bias_name);
  copy_padded(weights.bias, bias);
  return std::unique_ptr<PreparedLayer>(
      std::make_unique<Bf16Layer>(slabs, std::move(*made), rounded, bias, device.executor()));
}

}  // namespace

extern const Primitive conv_onednn_bf16;
constinit const Primitive conv_onednn_bf16{name, 1, DeviceKind::cpu, &describe, &prepare, nullptr, &outline};

}  // namespace znni::cpu
