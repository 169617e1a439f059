// cpu.conv.direct_blocked: the textbook convolution to blocks of output channels. The channels lie in the vector lanes
// (fft_tiled/direct_rows.hpp) and are written with non-temporal stores. It reads few planar channels, for the first
// layer of a net with small kernels. It reads blocks for kernels of one tap and for shapes too small for tiles. Each
// tap costs a multiply-add and a load.
#include <algorithm>
#include <utility>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/fft_tiled/direct_taps.hpp"

namespace znni::cpu {
namespace {

using namespace fft_tiled;

constexpr std::string_view name = "cpu.conv.direct_blocked";
// Maximum taps of all input channels together. With more taps, a tile's transform saves far more than direct taps of
// blocks could.
constexpr std::int64_t max_taps = 4096;
constexpr std::int64_t rows_per_task = 16;
// Cost of finishing and writing a voxel, in taps.
constexpr double taps_of_writing = 5.0;

Seconds model(const Tiling& t, const DeviceSpec& spec, Format in, Format out) {
  const Shape5 shape = output_shape(t.problem);
  const double outputs = static_cast<double>(t.out_blocks() * t.lanes) * static_cast<double>(shape.S) *
                         static_cast<double>(voxels(shape.n));
  const double flops = (2.0 * (static_cast<double>(tap_count(t.problem)) + taps_of_writing) +
                        late_activation_flops(t.problem.activation, spec)) *
                       outputs;
  return modelled_time(spec, flops, tap_efficiency, tensor_traffic(t.problem, in, out));
}

Estimate estimate_of(const Tiling& t, const DeviceSpec& spec, Format in, Format out) {
  Estimate estimate{{}, in, out, model(t, spec, in, out), {}};
  estimate.memory = input_output_buffers(t.problem, in, out);
  const std::int64_t blocked = t.out_blocks() * t.lanes;
  estimate.memory.push_back(
      {"kernels", MemorySpace::host, float_bytes(mul(blocked, tap_count(t.problem))), Lifetime::plan()});
  estimate.memory.push_back({"bias", MemorySpace::host, float_bytes(blocked), Lifetime::plan()});
  estimate.memory.push_back(
      {"lines", MemorySpace::host, float_bytes(mul(spec.threads, rows_scratch(t))), Lifetime::stages(0, 0)});
  return estimate;
}

class DirectBlocked final : public PreparedLayer {
 public:
  DirectBlocked(const Tiling& tiling, const TileKernels& kernels, Executor& executor)
      : tiling_(tiling), kernels_(kernels), executor_(executor) {}

  void keep(const LayerWeights& weights, std::span<float> packed, std::span<float> bias) {
    packed_ = packed;
    bias_ = bias;
    copy_padded(weights.bias, bias);
    pack_taps(tiling_, weights.kernels, packed);
    taps_.resize(static_cast<std::size_t>(tap_count(tiling_.problem)));
  }

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena& arena) override {
    const std::span<float> lines = arena.grant_as<float>("lines");
    place_taps(tiling_.problem, inputs[0], taps_);
    const TensorView* const residual = tiling_.problem.residual ? &inputs[1] : nullptr;
    const std::int64_t parts = div_up(out.shape.n.y, rows_per_task);
    executor_.parallel_for(out.shape.S * out.shape.n.z * parts, [&](std::int64_t index, int worker) {
      const std::int64_t first = index % parts * rows_per_task;
      const std::int64_t plane = index / parts;
      kernels_.rows({&tiling_, &inputs[0], &out, residual, taps_.data(), static_cast<std::int64_t>(taps_.size()),
                     packed_.data(), bias_.data(), plane / out.shape.n.z, plane % out.shape.n.z, first,
                     std::min(first + rows_per_task, out.shape.n.y), lines.data() + worker * rows_scratch(tiling_)});
    });
    return {};
  }

 private:
  Tiling tiling_;
  const TileKernels& kernels_;
  Executor& executor_;
  std::span<float> packed_;
  std::span<float> bias_;
  std::vector<std::int64_t> taps_;
};

Result<std::vector<Estimate>> describe(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* conv = std::get_if<ConvProblem>(&problem);
  if (conv == nullptr || conv->groups != 1) return refusal(name, "convolutions without groups", problem);
  if (tap_count(*conv) > max_taps) return refusal(name, "convolutions of up to 4096 taps of all input images", problem);
  const TileKernels* kernels = tile_kernels(spec.simd_floats);
  if (kernels == nullptr) return no_tile_kernels(name, spec.simd_floats);
  const Tiling tiling{*conv, kernels->lanes, {}, 1};
  std::vector<Estimate> estimates;
  for (const Format in : {planar_format, blocked_format(spec)}) {
    if (in == planar_format && tap_count(*conv) > max_planar_taps) continue;
    for (const Format out : {blocked_format(spec), planar_format}) {
      if (out != planar_format || conv->f_out < kernels->lanes) estimates.push_back(estimate_of(tiling, spec, in, out));
    }
  }
  return estimates;
}

Result<std::unique_ptr<PreparedLayer>> prepare(const LayerProblem& problem, const Estimate&,
                                               const LayerWeights& weights, Arena& persistent, Device& device) {
  const auto* conv = std::get_if<ConvProblem>(&problem);
  ensure(conv != nullptr, "describe() refuses what is no convolution");
  const TileKernels* kernels = tile_kernels(device.spec().simd_floats);
  ensure(kernels != nullptr, "describe() refuses vectors that are not built");
  auto layer = std::make_unique<DirectBlocked>(Tiling{*conv, kernels->lanes, {}, 1}, *kernels, device.executor());
  layer->keep(weights, persistent.grant_as<float>("kernels"), persistent.grant_as<float>("bias"));
  return std::unique_ptr<PreparedLayer>(std::move(layer));
}

}  // namespace

extern const Primitive conv_direct_blocked;
constinit const Primitive conv_direct_blocked{name, 3, DeviceKind::cpu, &describe, &prepare};

}  // namespace znni::cpu
