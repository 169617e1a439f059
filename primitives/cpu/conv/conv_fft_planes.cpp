// Convolution of few channels, by FFT of the planes of overlap-save tiles; whole tiles stay in a worker's own cache
// (fft_tiled/whole_tile.hpp). It is for the first layer of a net. There a matrix product would have only one input
// channel, and moving the spectra of 80 output channels through memory would take all the time.
#include <algorithm>
#include <utility>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/fft_tiled/plane_choice.hpp"
#include "primitives/cpu/fft_tiled/tile_memory.hpp"

namespace znni::cpu {
namespace {

using namespace fft_tiled;

constexpr std::string_view fft_planes_name = "cpu.conv.fft_planes";

class PlanesLayer final : public PreparedLayer {
 public:
  PlanesLayer(const Tiling& tiling, const TileKernels& kernels, Executor& executor)
      : tiling_(tiling), kernels_(kernels), executor_(executor) {}

  void keep(const LayerWeights& weights, std::span<float> spectra, std::span<float> bias) {
    spectra_ = spectra;
    bias_ = bias;
    keep_plane_spectra(tiling_, kernels_, weights, spectra, bias);
  }

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena& arena) override {
    const std::span<float> scratch = arena.grant_as<float>(worker_scratch_name);
    const std::int64_t each = static_cast<std::int64_t>(scratch.size()) / executor_.workers();
    const std::int64_t along_z = tiling_.tiles().z;
    const TensorView* const residual = tiling_.problem.residual ? &inputs[1] : nullptr;
    executor_.parallel_for(tile_count(tiling_), [&](std::int64_t index, int worker) {
      kernels_.tile({&tiling_, &inputs[0], &out, residual, spectra_.data(), bias_.data(),
                     stack_at(tiling_, index / along_z), index % along_z * tiling_.m().z,
                     scratch.data() + worker * each});
    });
    return {};
  }

 private:
  Tiling tiling_;
  const TileKernels& kernels_;
  Executor& executor_;
  std::span<float> spectra_;
  std::span<float> bias_;
};

Result<std::vector<Estimate>> describe_fft_planes(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* conv = std::get_if<ConvProblem>(&problem);
  if (conv == nullptr) return refusal(fft_planes_name, "convolutions", problem);
  if (conv->dilation != Vec3::cube(1)) return refusal(fft_planes_name, "convolutions without dilation", problem);
  if (!is_plain(*conv)) return refusal(fft_planes_name, "convolutions without stride or groups", problem);
  if (conv->local) return refusal(fft_planes_name, "convolutions of finite voxels", problem);
  if (conv->in.f > max_plane_inputs) return refusal(fft_planes_name, "convolutions of up to 8 channels", problem);
  if (!covers(Vec3::cube(tile_extents().back()), conv->k) || conv->f_out > max_plane_channels) {
    return refusal(fft_planes_name, "kernels of up to 48 taps per axis to up to 65536 channels", problem);
  }
  const TileKernels* kernels = tile_kernels(spec.simd_floats);
  if (kernels == nullptr) return no_tile_kernels(fft_planes_name, spec.simd_floats);
  std::vector<Estimate> estimates;
  for (const Tiling& tiling : plane_tilings(*conv, kernels->lanes, spec)) {
    estimates.push_back(plane_estimate(tiling, spec, blocked_format(spec)));
    if (conv->f_out < kernels->lanes) estimates.push_back(plane_estimate(tiling, spec, planar_format));
  }
  return estimates;
}

Result<std::unique_ptr<PreparedLayer>> prepare_fft_planes(const LayerProblem& problem, const Estimate& chosen,
                                                          const LayerWeights& weights, Arena& persistent,
                                                          Device& device) {
  const auto* conv = std::get_if<ConvProblem>(&problem);
  ensure(conv != nullptr, "describe() refuses what is no convolution");
  const TileKernels* kernels = tile_kernels(device.spec().simd_floats);
  ensure(kernels != nullptr, "describe() refuses vectors that are not built");
  const Tiling tiling = plane_tiling(*conv, kernels->lanes, chosen.variant);
  auto layer = std::make_unique<PlanesLayer>(tiling, *kernels, device.executor());
  layer->keep(weights, persistent.grant_as<float>(kernel_spectra_name), persistent.grant_as<float>(bias_name));
  return std::unique_ptr<PreparedLayer>(std::move(layer));
}

}  // namespace

extern const Primitive conv_fft_planes;
constinit const Primitive conv_fft_planes{fft_planes_name, 3, DeviceKind::cpu, &describe_fft_planes,
                                          &prepare_fft_planes};

}  // namespace znni::cpu
