// The parts that convolutions by FFT in tiles share, whichever library transforms: parameters in device memory, the
// products and the end of a tile.
#pragma once

#include "primitives/cuda/device/cuda_device.hpp"
#include "primitives/cuda/device/status.hpp"
#include "primitives/cuda/elementwise/elementwise_layer.hpp"
#include "primitives/cuda/fft/fft_products.hpp"
#include "primitives/gpu/fft_tiling.hpp"
#include "primitives/gpu/products_element.hpp"
#include "primitives/gpu/views.hpp"

namespace znni::cuda {

// Returns the time of all products, by the settings `tf32` and `tf32x3`: at shares of the units' rates, which are
// assumed until measured. Of those of tf32x3, mma.sync reaches 0.62 of the units' rate, the kernel 0.7 of that, and
// each number takes three products.
[[nodiscard]] inline Seconds product_time(const DeviceSpec& spec, const FftTiling& tiling, const Variant& variant) {
  constexpr double share_of_float32 = 0.63;
  constexpr double share_of_tf32 = 0.24;
  constexpr double share_of_split = 0.62 * 0.7 / 3.0;
  const double tf32 = spec.accelerator.tf32_flops_per_second;
  double rate = share_of_float32 * spec.flops_per_second;
  if (setting(variant, "tf32", 0) == 1) rate = share_of_tf32 * tf32;
  if (setting(variant, "tf32x3", 0) == 1) {
    rate = share_of_split * tf32 * product_share(tiling.channels, tiling.channels_out, tiling.chunk_tiles);
  }
  return fft_product_flops(tiling) / rate;
}

// Returns the settings of products that a device has: float32; where its matrix units take TF32, also numbers rounded
// to it, and numbers split in two of it.
[[nodiscard]] inline std::vector<Variant> product_settings(const DeviceSpec& spec) {
  if (spec.accelerator.tf32_flops_per_second <= 0) return {{}};
  return {{}, {{"tf32", 1}}, {{"tf32x3", 1}}};
}

// Device memory of spectra, as multiply_spectra() takes them.
struct TileSpectra {
  float2* kernels = nullptr;
  float2* inputs = nullptr;
  float2* outputs = nullptr;
};

// Settings: keep (spectra of kernels stay in memory), tf32 (products in TF32), tf32x3 (products as exact as in float32,
// on the same units).
class FftLayer : public PreparedLayer {
 public:
  FftLayer(const ConvProblem& conv, const FftTiling& tiling, const Variant& variant, CudaDevice& device,
           cublasHandle_t blas)
      : conv_(conv),
        tiling_(tiling),
        keep_(setting(variant, "keep", 0) == 1),
        tf32_(setting(variant, "tf32", 0) == 1),
        split_(setting(variant, "tf32x3", 0) == 1),
        device_(device),
        blas_(blas) {}

  // Loads kernels and bias, and takes room for the spectra that are kept.
  Result<void> load_parameters(const LayerWeights& weights, Arena& persistent) {
    const Result<float*> kernels = load_floats(device_, persistent, kernels_buffer, weights.kernels);
    if (!kernels) return kernels.error();
    const Result<float*> bias = load_floats(device_, persistent, bias_buffer, weights.bias);
    if (!bias) return bias.error();
    kernels_ = *kernels;
    bias_ = *bias;
    if (keep_) kept_spectra_ = persistent.grant_as<float2>(kernel_spectra_buffer).data();
    return {};
  }

 protected:
  [[nodiscard]] TileSpectra take_spectra(Arena& arena) const {
    return {keep_ ? kept_spectra_ : arena.grant_as<float2>(kernel_spectra_buffer).data(),
            arena.grant_as<float2>(input_spectra_buffer).data(), arena.grant_as<float2>(output_spectra_buffer).data()};
  }

  // Returns the argument for `columns` columns of a chunk from `first` on, of tiles with `rows`.
  [[nodiscard]] TileArg tile_arg(const TensorView& view, std::int64_t chunk, std::int64_t first, std::int64_t columns,
                                 Extent rows) const {
    return {tiling_.grid,
            view.shape.f,
            extent_of(view.shape.n),
            steps_of(view.strides),
            chunk * tiling_.chunk_tiles * view.shape.f + first,
            columns,
            rows};
  }

  Result<void> multiply(const TileSpectra& spectra) {
    const SpectraProduct product{conv_.in.f,      conv_.f_out,    tiling_.chunk_tiles, tiling_.frequencies(),
                                 spectra.kernels, spectra.inputs, spectra.outputs};
    if (split_) return check(launch_products(product, stream()), "products of split numbers");
    return multiply_spectra(blas_, product, tf32_);
  }

  [[nodiscard]] TileEnd end_of(std::span<const TensorView> inputs) const {
    TileEnd end;
    end.scale = 1.0F / static_cast<float>(tiling_.tile_voxels());
    end.bias = bias_;
    end.act = act_of(conv_.activation.kind);
    end.alpha = conv_.activation.alpha;
    if (conv_.residual) {
      end.residual = inputs[1].data;
      end.residual_steps = steps_of(inputs[1].strides);
    }
    return end;
  }

  [[nodiscard]] cudaStream_t stream() const { return device_.stream(Stream::compute); }

  ConvProblem conv_;
  FftTiling tiling_;
  bool keep_;
  bool tf32_;
  bool split_;
  CudaDevice& device_;
  cublasHandle_t blas_;
  const float* kernels_ = nullptr;
  const float* bias_ = nullptr;
  float2* kept_spectra_ = nullptr;
};

// Makes a layer of this kind with its parameters in place.
template <class Layer>
Result<std::unique_ptr<Layer>> make_fft_layer(const ConvProblem& conv, const std::optional<FftTiling>& tiling,
                                              const Variant& variant, const LayerWeights& weights, Arena& persistent,
                                              Device& device) {
  ensure(tiling.has_value(), "describe() offers tiles that keep something");
  const Result<CudaDevice*> cuda = as_cuda(device);
  if (!cuda) return cuda.error();
  if (Result<void> current = (*cuda)->activate(); !current) return current.error();
  const Result<cublasHandle_t> blas = (*cuda)->blas();
  if (!blas) return blas.error();
  auto layer = std::make_unique<Layer>(conv, *tiling, variant, **cuda, *blas);
  if (Result<void> loaded = layer->load_parameters(weights, persistent); !loaded) return loaded.error();
  return layer;
}

}  // namespace znni::cuda
