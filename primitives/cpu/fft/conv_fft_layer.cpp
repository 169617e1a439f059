#include "primitives/cpu/fft/conv_fft_layer.hpp"

#include <limits>
#include <string>
#include <utility>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/fft/conv_fft_memory.hpp"
#include "primitives/cpu/fft/conv_fft_model.hpp"

namespace znni::cpu {

Result<ConvFftLayer> ConvFftLayer::make(const LayerProblem& problem, const LayerWeights& weights, Arena& persistent,
                                        Device& device) {
  const auto* conv = std::get_if<ConvProblem>(&problem);
  ensure(conv != nullptr, "describe() refuses what is no convolution");
  if (device.executor().workers() != device.spec().threads) {
    return Error{ErrorCode::invalid_argument, "the device has " + std::to_string(device.executor().workers()) +
                                                  " workers, but the layer was described for " +
                                                  std::to_string(device.spec().threads)};
  }
  const Vec3 n_fft = fft_extent(conv->in.n);
  Result<PrunedForward> channel = PrunedForward::make(n_fft, conv->in.n);
  if (!channel) return channel.error();
  Result<PrunedForward> kernel = PrunedForward::make(n_fft, conv->k, conv->dilation);
  if (!kernel) return kernel.error();
  Result<PrunedInverse> output = PrunedInverse::make(n_fft, output_shape(problem).n);
  if (!output) return output.error();
  return ConvFftLayer(*conv, weights, std::move(*channel), std::move(*kernel), std::move(*output),
                      persistent.grant_as<Complex>(line_tiles));
}

ConvFftLayer::ConvFftLayer(const ConvProblem& problem, const LayerWeights& weights, PrunedForward channel_fft,
                           PrunedForward kernel_fft, PrunedInverse output_fft, std::span<Complex> tiles)
    : problem_(problem),
      weights_(weights),
      n_fft_(fft_extent(problem.in.n)),
      elements_(transform_elements(n_fft_)),
      channel_fft_(std::move(channel_fft)),
      kernel_fft_(std::move(kernel_fft)),
      output_fft_(std::move(output_fft)),
      tiles_(tiles) {}

ConstVoxels ConvFftLayer::kernel(std::int64_t j, std::int64_t i) const {
  const Vec3 k = problem_.k;
  return {weights_.kernels.data() + (j * problem_.in.f + i) * voxels(k), {k.y * k.x, k.x, 1}};
}

PrunedInverse::Finish ConvFftLayer::finish(std::span<const TensorView> inputs, std::int64_t s, std::int64_t j) const {
  const auto scale = static_cast<float>(1.0 / static_cast<double>(voxels(n_fft_)));
  PrunedInverse::Finish finish{{scale, bias_of(weights_, j), problem_.activation}, {}};
  if (!problem_.residual) return finish;
  const Voxels residual = channel_voxels(inputs[1], s, j);
  finish.residual = {residual.data, residual.step};
  return finish;
}

std::span<Complex> ConvFftLayer::tile(int worker, int index) const {
  const std::int64_t size = tile_elements(n_fft_);
  const std::int64_t first = (static_cast<std::int64_t>(worker) * tiles_per_worker + index) * size;
  return tiles_.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(size));
}

Result<ConvProblem> as_convolution(std::string_view name, const LayerProblem& problem) {
  const auto* conv = std::get_if<ConvProblem>(&problem);
  if (conv == nullptr) return refusal(name, "convolutions", problem);
  if (!is_plain(*conv)) return refusal(name, "convolutions without stride or groups", problem);
  if (conv->local) return refusal(name, "convolutions of finite voxels", problem);
  return *conv;
}

Seconds min_conv_fft_time(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* conv = std::get_if<ConvProblem>(&problem);
  if (conv == nullptr || !is_plain(*conv) || conv->local) return std::numeric_limits<Seconds>::infinity();
  return min_fft_seconds(*conv, spec);
}

}  // namespace znni::cpu
