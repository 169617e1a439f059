// cuda.conv.fft32: convolution by FFT in tiles of 32^3, planar float32, with transforms of our own (fft32_element.hpp):
// two passes over memory each way, no scratch but the spectra. The products are those of cuda.conv.fft. Settings: chunk
// (MiB of spectra), keep (spectra of kernels stay in memory), tf32 and tf32x3 (products on matrix units).
#include <algorithm>
#include <array>

#include "primitives/cuda/device/status.hpp"
#include "primitives/cuda/fft/fft_layer.hpp"
#include "primitives/cuda/kernels/fft32_kernel.hpp"
#include "primitives/gpu/areas.hpp"
#include "primitives/gpu/estimates.hpp"

namespace znni::cuda {
namespace {

constexpr std::string_view fft32_name = "cuda.conv.fft32";
constexpr std::array<std::int64_t, 2> chunk_mebibytes = {256, 2048};
// Kernels are launched with a block per plane and eight channels: grids hold 2^31 - 1.
constexpr std::int64_t max_columns = std::int64_t{1} << 28;

constexpr int launches_per_chunk = 5;

Estimate estimate_fft32(const ConvProblem& conv, const DeviceSpec& spec, const FftTiling& tiling,
                        const Variant& variant) {
  const bool keep = setting(variant, "keep", 0) == 1;
  Estimate result{variant, planar_f32, planar_f32, 0,
                  input_output_buffers(conv, planar_f32, planar_f32, 0, MemorySpace::device)};
  result.spread = tiling.spread;
  const auto launches = static_cast<int>(std::min<std::int64_t>(tiling.chunks, 1 << 24)) * launches_per_chunk;
  result.time =
      modelled_time(spec, 0.0, fft32_traffic(conv, tiling, keep), launches) + product_time(spec, tiling, variant);
  for (Buffer& buffer : fft32_buffers(conv, tiling, keep)) result.memory.push_back(std::move(buffer));
  return result;
}

Result<std::vector<Estimate>> describe_fft32(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* conv = std::get_if<ConvProblem>(&problem);
  if (conv == nullptr) return refusal(fft32_name, "convolutions", problem);
  if (!is_plain(*conv)) return refusal(fft32_name, "convolutions without stride or groups", problem);
  if (conv->local) return refusal(fft32_name, "convolutions of finite voxels", problem);
  if (Result<void> gpu = check_gpu(fft32_name, spec); !gpu) return gpu.error();
  if (mul(conv->in.f, conv->f_out) > max_columns) {
    return Error{ErrorCode::unsupported, std::string(fft32_name) + " takes up to " + std::to_string(max_columns) +
                                             " pairs of channels, not those of: " + to_string(problem)};
  }
  std::vector<Estimate> estimates;
  std::int64_t last_chunk = 0;
  for (const std::int64_t chunk : chunk_mebibytes) {
    const std::optional<FftTiling> tiling = make_tiling_of_32(*conv, chunk << 20);
    if (!tiling || tiling->chunk_tiles == last_chunk) continue;
    last_chunk = tiling->chunk_tiles;
    for (const std::int64_t keep : {0, 1}) {
      for (const Variant& products : product_settings(spec)) {
        Variant variant = {{"chunk", chunk}, {"keep", keep}};
        variant.insert(variant.end(), products.begin(), products.end());
        estimates.push_back(estimate_fft32(*conv, spec, *tiling, variant));
      }
    }
  }
  if (!estimates.empty()) return estimates;
  return Error{ErrorCode::unsupported,
               std::string(fft32_name) + " keeps less than a third of its tile (32) of " + to_string(problem)};
}

class Fft32Layer final : public FftLayer {
 public:
  using FftLayer::FftLayer;

  Result<void> make_kept_spectra() { return keep_ ? transform_kernels(kept_spectra_) : Result<void>(); }

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena& arena) override {
    if (Result<void> current = device_.activate(); !current) return current;
    const TileSpectra spectra = take_spectra(arena);
    Result<void> ready = lend_workspace(blas_, stream(), aligned_area(arena.grant(blas_area_buffer)));
    if (!ready) return ready;
    if (!keep_) {
      if (Result<void> made = transform_kernels(spectra.kernels); !made) return made;
    }
    for (std::int64_t chunk = 0; chunk < tiling_.chunks; ++chunk) {
      if (Result<void> done = run_chunk(inputs, out, spectra, chunk); !done) return done;
    }
    return {};
  }

 private:
  Result<void> transform_kernels(float2* to) {
    const std::int64_t pairs = conv_.in.f * conv_.f_out;
    const KernelTileArg arg{tiling_.grid.tile, extent_of(conv_.k), extent_of(conv_.dilation), 0, pairs, pairs};
    return check(launch_fft32_kernels(arg, kernels_, to, stream()), "transforms of kernels");
  }

  // Returns the argument for all columns of the chunk.
  [[nodiscard]] TileArg chunk_arg(const TensorView& view, std::int64_t chunk, Extent rows) const {
    return tile_arg(view, chunk, 0, tiling_.chunk_tiles * view.shape.f, rows);
  }

  Result<void> run_chunk(std::span<const TensorView> inputs, const TensorView& out, const TileSpectra& spectra,
                         std::int64_t chunk) {
    const std::int64_t tiles = tiling_.chunk_tiles;
    Result<void> forward = check(
        launch_fft32(chunk_arg(inputs[0], chunk, tiling_.grid.tile), tiles, inputs[0].data, spectra.inputs, stream()),
        "transforms of inputs");
    if (!forward) return forward;
    if (Result<void> multiplied = multiply(spectra); !multiplied) return multiplied;
    return check(launch_fft32_back(chunk_arg(out, chunk, tiling_.grid.kept), end_of(inputs), tiles, spectra.outputs,
                                   out.data, stream()),
                 "transforms of outputs");
  }
};

Result<std::unique_ptr<PreparedLayer>> prepare_fft32(const LayerProblem& problem, const Estimate& chosen,
                                                     const LayerWeights& weights, Arena& persistent, Device& device) {
  const auto& conv = std::get<ConvProblem>(problem);
  const std::optional<FftTiling> tiling = make_tiling_of_32(conv, setting(chosen.variant, "chunk", 0) << 20);
  auto layer = make_fft_layer<Fft32Layer>(conv, tiling, chosen.variant, weights, persistent, device);
  if (!layer) return layer.error();
  if (Result<void> made = (*layer)->make_kept_spectra(); !made) return made.error();
  return std::unique_ptr<PreparedLayer>(*std::move(layer));
}

}  // namespace

extern constinit const Primitive conv_fft32{fft32_name, 2, DeviceKind::gpu, &describe_fft32, &prepare_fft32};

}  // namespace znni::cuda
