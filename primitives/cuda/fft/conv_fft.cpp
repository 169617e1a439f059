// cuda.conv.fft: convolution by FFT in overlap-save tiles, planar float32. Chunks of tiles pass through transforms
// (cuFFT), one complex matrix product per frequency (cuBLAS) and transforms back. The published GPU primitive
// (ZNNi III.C, Table II) transforms the whole input and multiplies pointwise; tiles make the kernels' spectra small
// enough to keep and the products large enough for the arithmetic units, and bound the scratch. Settings: tile (edge),
// chunk (MiB of spectra), keep (spectra of kernels stay in memory), tf32 (products in TF32), tf32x3 (products on the
// same units, as exact as in float32: primitives/gpu/complex_mma.hpp).
#include <algorithm>
#include <array>

#include "primitives/cuda/device/status.hpp"
#include "primitives/cuda/fft/fft_layer.hpp"
#include "primitives/cuda/fft/fft_plan.hpp"
#include "primitives/cuda/kernels/fft_kernel.hpp"
#include "primitives/gpu/areas.hpp"
#include "primitives/gpu/estimates.hpp"

namespace znni::cuda {
namespace {

constexpr std::string_view fft_name = "cuda.conv.fft";
constexpr std::array<std::int64_t, 5> edges = {32, 48, 64, 96, 128};
constexpr std::array<std::int64_t, 2> chunk_mebibytes = {256, 2048};

constexpr int launches_per_slice = 3;

std::optional<FftTiling> tiling_of(const ConvProblem& conv, const Variant& variant) {
  return make_tiling(conv, setting(variant, "tile", 0), setting(variant, "chunk", 0) << 20);
}

Estimate estimate_fft(const ConvProblem& conv, const DeviceSpec& spec, const FftTiling& tiling,
                      const Variant& variant) {
  const bool keep = setting(variant, "keep", 0) == 1;
  const std::int64_t columns = tiling.chunks * tiling.chunk_tiles * (conv.in.f + conv.f_out);
  const std::int64_t launches = launches_per_slice * div_up(columns, tiling.slice) + tiling.chunks;
  Estimate result{variant, planar_f32, planar_f32, 0,
                  input_output_buffers(conv, planar_f32, planar_f32, 0, MemorySpace::device)};
  result.spread = tiling.spread;
  // The products wait for memory and for arithmetic; the transforms for memory alone.
  result.time = modelled_time(spec, 0.0, fft_traffic(conv, tiling, keep),
                              static_cast<int>(std::min<std::int64_t>(launches, 1 << 30))) +
                product_time(spec, tiling, variant);
  for (Buffer& buffer : fft_buffers(conv, tiling, keep)) result.memory.push_back(std::move(buffer));
  return result;
}

std::vector<Variant> variants(const DeviceSpec& spec) {
  std::vector<Variant> all;
  for (const std::int64_t edge : edges) {
    for (const std::int64_t chunk : chunk_mebibytes) {
      for (const std::int64_t keep : {0, 1}) {
        for (const Variant& products : product_settings(spec)) {
          all.push_back({{"tile", edge}, {"chunk", chunk}, {"keep", keep}});
          all.back().insert(all.back().end(), products.begin(), products.end());
        }
      }
    }
  }
  return all;
}

Result<std::vector<Estimate>> describe_fft(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* conv = std::get_if<ConvProblem>(&problem);
  if (conv == nullptr) return refusal(fft_name, "convolutions", problem);
  if (!is_plain(*conv)) return refusal(fft_name, "convolutions without stride or groups", problem);
  if (conv->local) return refusal(fft_name, "convolutions of finite voxels", problem);
  if (Result<void> gpu = check_gpu(fft_name, spec); !gpu) return gpu.error();
  std::vector<Estimate> estimates;
  for (const Variant& variant : variants(spec)) {
    const std::optional<FftTiling> tiling = tiling_of(*conv, variant);
    if (!tiling) continue;
    // Where larger tiles or chunks change nothing, they are not offered again.
    const Estimate made = estimate_fft(*conv, spec, *tiling, variant);
    const auto same = [&](const Estimate& other) {
      const auto alike = [&](std::string_view key) {
        return setting(other.variant, key, 0) == setting(variant, key, 0);
      };
      return other.memory == made.memory && alike("tf32") && alike("tf32x3") && other.time == made.time;
    };
    if (std::none_of(estimates.begin(), estimates.end(), same)) estimates.push_back(made);
  }
  if (!estimates.empty()) return estimates;
  return Error{ErrorCode::unsupported, std::string(fft_name) + " keeps less than a third of its largest tile (" +
                                           std::to_string(edges.back()) + ") of " + to_string(problem)};
}

// Device memory of one run.
struct Scratch {
  TileSpectra spectra;
  float* tiles = nullptr;
  float2* slice_spectra = nullptr;
  std::byte* fft_area = nullptr;
  std::span<std::byte> blas_area;
};

struct Plans {
  FftPlan forward;
  FftPlan inverse;
};

class CufftLayer final : public FftLayer {
 public:
  using FftLayer::FftLayer;

  // Makes slices smaller until cuFFT is content with the area that was declared.
  Result<void> make_plans() {
    const std::int64_t area = fft_area_bytes(tiling_);
    const cudaStream_t stream = device_.stream(Stream::compute);
    for (;;) {
      Result<FftPlan> forward = FftPlan::make(FftDirection::forward, tiling_.grid.tile, tiling_.slice, stream);
      if (!forward) return forward.error().within(fft_name);
      Result<FftPlan> inverse = FftPlan::make(FftDirection::inverse, tiling_.grid.tile, tiling_.slice, stream);
      if (!inverse) return inverse.error().within(fft_name);
      const std::int64_t asked = std::max(forward->area_bytes(), inverse->area_bytes());
      if (asked <= area) {
        plans_ = {std::move(*forward), std::move(*inverse)};
        return {};
      }
      if (tiling_.slice == 1) {
        return Error{ErrorCode::over_budget, std::string(fft_name) + ": cuFFT asks for a work area of " +
                                                 bytes_text(asked) + " for one tile, " + bytes_text(area) +
                                                 " were planned; choose another tile"};
      }
      tiling_.slice = div_up(tiling_.slice, 2);
    }
  }

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena& arena) override {
    if (Result<void> current = device_.activate(); !current) return current;
    const Scratch scratch = take(arena);
    Result<void> ready = lend_workspace(blas_, stream(), scratch.blas_area);
    if (!ready) return ready;
    if (!keep_ || !spectra_made_) {
      if (Result<void> made = transform_kernels(scratch); !made) return made;
      spectra_made_ = true;
    }
    for (std::int64_t chunk = 0; chunk < tiling_.chunks; ++chunk) {
      if (Result<void> done = transform(scratch, inputs[0], chunk); !done) return done;
      if (Result<void> done = multiply(scratch.spectra); !done) return done;
      if (Result<void> done = transform_back(scratch, inputs, out, chunk); !done) return done;
    }
    return {};
  }

 private:
  Scratch take(Arena& arena) const {
    Scratch scratch;
    scratch.spectra = take_spectra(arena);
    scratch.tiles = arena.grant_as<float>(tiles_buffer).data();
    scratch.slice_spectra = arena.grant_as<float2>(slice_spectra_buffer).data();
    scratch.fft_area = aligned_area(arena.grant(fft_area_buffer)).data();
    scratch.blas_area = aligned_area(arena.grant(blas_area_buffer));
    return scratch;
  }

  // Transforms the slice's tiles and puts them as columns `first`... of the matrices, `columns` wide in all.
  Result<void> spread(const Scratch& scratch, float2* to, std::int64_t first, std::int64_t count,
                      std::int64_t columns) {
    if (Result<void> done = plans_.forward.run(scratch.tiles, scratch.slice_spectra, scratch.fft_area); !done) {
      return done;
    }
    const TransposeArg arg{count, tiling_.frequencies(), tiling_.frequencies(), columns};
    return check(launch_transpose(arg, scratch.slice_spectra, to + first, stream()), "transposition of spectra");
  }

  Result<void> transform_kernels(const Scratch& scratch) {
    const std::int64_t pairs = conv_.in.f * conv_.f_out;
    for (std::int64_t first = 0; first < pairs; first += tiling_.slice) {
      const KernelTileArg arg{
          tiling_.grid.tile, extent_of(conv_.k), extent_of(conv_.dilation), first, tiling_.slice, pairs};
      Result<void> read = check(launch_read_kernels(arg, kernels_, scratch.tiles, stream()), "kernel tiles");
      if (!read) return read;
      const std::int64_t count = std::min(tiling_.slice, pairs - first);
      if (Result<void> done = spread(scratch, scratch.spectra.kernels, first, count, pairs); !done) return done;
    }
    return {};
  }

  Result<void> transform(const Scratch& scratch, const TensorView& in, std::int64_t chunk) {
    const std::int64_t columns = tiling_.chunk_tiles * conv_.in.f;
    for (std::int64_t first = 0; first < columns; first += tiling_.slice) {
      const TileArg arg = tile_arg(in, chunk, first, tiling_.slice, tiling_.grid.tile);
      Result<void> read = check(launch_read_tiles(arg, in.data, scratch.tiles, stream()), "input tiles");
      if (!read) return read;
      const std::int64_t count = std::min(tiling_.slice, columns - first);
      if (Result<void> done = spread(scratch, scratch.spectra.inputs, first, count, columns); !done) return done;
    }
    return {};
  }

  Result<void> transform_back(const Scratch& scratch, std::span<const TensorView> inputs, const TensorView& out,
                              std::int64_t chunk) {
    const std::int64_t columns = tiling_.chunk_tiles * conv_.f_out;
    const TileEnd end = end_of(inputs);
    for (std::int64_t first = 0; first < columns; first += tiling_.slice) {
      const std::int64_t count = std::min(tiling_.slice, columns - first);
      const TransposeArg gather{tiling_.frequencies(), count, columns, tiling_.frequencies()};
      Result<void> gathered =
          check(launch_transpose(gather, scratch.spectra.outputs + first, scratch.slice_spectra, stream()), "spectra");
      if (!gathered) return gathered;
      if (Result<void> done = plans_.inverse.run(scratch.slice_spectra, scratch.tiles, scratch.fft_area); !done) {
        return done;
      }
      const TileArg arg = tile_arg(out, chunk, first, count, tiling_.grid.kept);
      Result<void> written = check(launch_write_tiles(arg, end, scratch.tiles, out.data, stream()), "output tiles");
      if (!written) return written;
    }
    return {};
  }

  Plans plans_;
  bool spectra_made_ = false;
};

Result<std::unique_ptr<PreparedLayer>> prepare_fft(const LayerProblem& problem, const Estimate& chosen,
                                                   const LayerWeights& weights, Arena& persistent, Device& device) {
  const auto& conv = std::get<ConvProblem>(problem);
  auto layer =
      make_fft_layer<CufftLayer>(conv, tiling_of(conv, chosen.variant), chosen.variant, weights, persistent, device);
  if (!layer) return layer.error();
  if (Result<void> planned = (*layer)->make_plans(); !planned) return planned.error();
  return std::unique_ptr<PreparedLayer>(*std::move(layer));
}

}  // namespace

extern constinit const Primitive conv_fft{fft_name, 1, DeviceKind::gpu, &describe_fft, &prepare_fft};

}  // namespace znni::cuda
