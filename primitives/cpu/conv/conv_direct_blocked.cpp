// cpu.conv.direct_blocked: the textbook convolution to blocks of output channels. The channels lie in the vector lanes
// (fft_tiled/direct_rows.hpp) and are written with non-temporal stores. It reads few planar channels, for the first
// layer of a net with small kernels. It reads blocks for kernels of one tap and for shapes too small for tiles. Each
// tap costs a multiply-add and a load. If there are a few output channels, most lanes would be idle. Then input
// channels lie in the lanes, and are added up at the end (fft_tiled/narrow_rows.hpp).
#include <algorithm>
#include <utility>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/fft_tiled/direct_taps.hpp"

namespace znni::cpu {
namespace {

using namespace fft_tiled;

constexpr std::string_view direct_blocked_name = "cpu.conv.direct_blocked";
// Maximum taps of all input channels together. With more taps, a tile's transform saves far more than direct taps of
// blocks could.
constexpr std::int64_t max_taps = 4096;
constexpr std::int64_t rows_per_task = 16;
// Cost of finishing and writing a voxel, in taps.
constexpr double taps_of_writing = 5.0;

// The lanes hold input channels if this setting is 1.
constexpr std::string_view narrow_name = "narrow";
// Cost of adding up the lanes of a sum, in taps of a block.
constexpr double taps_of_adding_up = 8.0;

bool is_narrow(const Variant& variant) { return setting(variant, narrow_name, 0) != 0; }

std::int64_t kernel_floats(const Tiling& t, bool narrow) {
  if (narrow) return mul(t.problem.f_out * t.lanes, narrow_tap_count(t));
  return mul(t.out_blocks() * t.lanes, tap_count(t.problem));
}

// Returns the taps of an output voxel: of all channels in the lanes or, if narrow, of blocks and for adding up.
double taps_of_voxel(const Tiling& t, bool narrow) {
  if (!narrow) return static_cast<double>(tap_count(t.problem));
  return static_cast<double>(t.problem.f_out) * (static_cast<double>(narrow_tap_count(t)) + taps_of_adding_up);
}

// Returns whether input channels in the lanes are possible, and take less computing.
bool offers_narrow(const Tiling& t, Format in) {
  return in != planar_format && t.problem.f_out <= max_narrow_outputs &&
         taps_of_voxel(t, true) < taps_of_voxel(t, false);
}

Seconds model(const Tiling& t, const DeviceSpec& spec, Format in, Format out, bool narrow) {
  const Shape5 shape = output_shape(t.problem);
  const double outputs = static_cast<double>(t.out_blocks() * t.lanes) * static_cast<double>(shape.S) *
                         static_cast<double>(voxels(shape.n));
  const double flops =
      (2.0 * (taps_of_voxel(t, narrow) + taps_of_writing) + late_activation_flops(t.problem.activation, spec)) *
      outputs;
  return modelled_time(spec, flops, tap_efficiency, tensor_traffic(t.problem, in, out));
}

Estimate estimate_of(const Tiling& t, const DeviceSpec& spec, Format in, Format out, bool narrow) {
  Estimate estimate{{}, in, out, model(t, spec, in, out, narrow), {}};
  if (narrow) estimate.variant = {{std::string(narrow_name), 1}};
  estimate.memory = input_output_buffers(t.problem, in, out);
  const std::int64_t blocked = t.out_blocks() * t.lanes;
  estimate.memory.push_back({"kernels", MemorySpace::host, float_bytes(kernel_floats(t, narrow)), Lifetime::plan()});
  estimate.memory.push_back({"bias", MemorySpace::host, float_bytes(blocked), Lifetime::plan()});
  estimate.memory.push_back(
      {"lines", MemorySpace::host, float_bytes(mul(spec.threads, rows_scratch(t))), Lifetime::stages(0, 0)});
  return estimate;
}

class DirectBlocked final : public PreparedLayer {
 public:
  DirectBlocked(const Tiling& tiling, const TileKernels& kernels, bool narrow, Executor& executor)
      : tiling_(tiling), kernels_(kernels), narrow_(narrow), executor_(executor) {}

  void keep(const LayerWeights& weights, std::span<float> packed, std::span<float> bias) {
    packed_ = packed;
    bias_ = bias;
    copy_padded(weights.bias, bias);
    (narrow_ ? pack_narrow_taps : pack_taps)(tiling_, weights.kernels, packed);
    taps_.resize(static_cast<std::size_t>(narrow_ ? narrow_tap_count(tiling_) : tap_count(tiling_.problem)));
  }

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena& arena) override {
    const std::span<float> lines = arena.grant_as<float>("lines");
    (narrow_ ? place_narrow_taps : place_taps)(tiling_.problem, inputs[0], taps_);
    const auto rows = narrow_ ? kernels_.narrow_rows : kernels_.rows;
    const TensorView* const residual = tiling_.problem.residual ? &inputs[1] : nullptr;
    const std::int64_t parts = div_up(out.shape.n.y, rows_per_task);
    executor_.parallel_for(out.shape.S * out.shape.n.z * parts, [&](std::int64_t index, int worker) {
      const std::int64_t first = index % parts * rows_per_task;
      const std::int64_t plane = index / parts;
      rows({&tiling_, &inputs[0], &out, residual, taps_.data(), static_cast<std::int64_t>(taps_.size()), packed_.data(),
            bias_.data(), plane / out.shape.n.z, plane % out.shape.n.z, first,
            std::min(first + rows_per_task, out.shape.n.y), lines.data() + worker * rows_scratch(tiling_)});
    });
    return {};
  }

 private:
  Tiling tiling_;
  const TileKernels& kernels_;
  bool narrow_;
  Executor& executor_;
  std::span<float> packed_;
  std::span<float> bias_;
  std::vector<std::int64_t> taps_;
};

Result<std::vector<Estimate>> describe_direct_blocked(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* conv = std::get_if<ConvProblem>(&problem);
  if (conv == nullptr || conv->groups != 1) return refusal(direct_blocked_name, "convolutions without groups", problem);
  if (tap_count(*conv) > max_taps)
    return refusal(direct_blocked_name, "convolutions of up to 4096 taps of all input channels", problem);
  const TileKernels* kernels = tile_kernels(spec.simd_floats);
  if (kernels == nullptr) return no_tile_kernels(direct_blocked_name, spec.simd_floats);
  const Tiling tiling{*conv, kernels->lanes, {}, 1};
  std::vector<Estimate> estimates;
  for (const Format in : {planar_format, blocked_format(spec)}) {
    if (in == planar_format && tap_count(*conv) > max_planar_taps) continue;
    for (const Format out : {blocked_format(spec), planar_format}) {
      if (out == planar_format && conv->f_out >= kernels->lanes) continue;
      estimates.push_back(estimate_of(tiling, spec, in, out, false));
      if (offers_narrow(tiling, in)) estimates.push_back(estimate_of(tiling, spec, in, out, true));
    }
  }
  return estimates;
}

Result<std::unique_ptr<PreparedLayer>> prepare_direct_blocked(const LayerProblem& problem, const Estimate& chosen,
                                                              const LayerWeights& weights, Arena& persistent,
                                                              Device& device) {
  const auto* conv = std::get_if<ConvProblem>(&problem);
  ensure(conv != nullptr, "describe() refuses what is no convolution");
  const TileKernels* kernels = tile_kernels(device.spec().simd_floats);
  ensure(kernels != nullptr, "describe() refuses vectors that are not built");
  auto layer = std::make_unique<DirectBlocked>(Tiling{*conv, kernels->lanes, {}, 1}, *kernels,
                                               is_narrow(chosen.variant), device.executor());
  layer->keep(weights, persistent.grant_as<float>("kernels"), persistent.grant_as<float>("bias"));
  return std::unique_ptr<PreparedLayer>(std::move(layer));
}

}  // namespace

extern const Primitive conv_direct_blocked;
constinit const Primitive conv_direct_blocked{direct_blocked_name, 3, DeviceKind::cpu, &describe_direct_blocked,
                                              &prepare_direct_blocked};

}  // namespace znni::cpu
