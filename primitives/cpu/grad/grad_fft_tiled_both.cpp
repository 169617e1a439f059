// cpu.grad.fft_tiled_both: the gradients of a convolution's input and kernels in one call, by spectra of overlap-save
// tiles. Both are gradients that the turned convolution has (turned.hpp), whose input is the output's gradient g with
// k - 1 zeros around it: its output is the input's gradient, and the gradient of its kernels is that of the kernels,
// turned. So windows of g are transformed once. With H their spectra, X those of the tiles of m voxels of the input,
// and W those of the turned kernels: the input's gradient is the inverse of H conj(W) on m voxels of each tile, and
// that of the kernels the inverse of the sum over tiles of H conj(X) on k (weights_tiles.hpp).
#include <algorithm>
#include <utility>
#include <vector>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/fft_tiled/tile_choice.hpp"
#include "primitives/cpu/grad/both_plans.hpp"
#include "primitives/cpu/grad/gradients.hpp"
#include "primitives/cpu/grad/row_products.hpp"
#include "primitives/cpu/grad/tile_transforms.hpp"
#include "primitives/cpu/grad/turned.hpp"

namespace znni::cpu {
namespace {

using namespace fft_tiled;

constexpr std::string_view name = "cpu.grad.fft_tiled_both";
// Maximum number of channels; beyond it, the products of extents may not fit.
constexpr std::int64_t max_channels = 65536;

Result<std::vector<Estimate>> describe(const GradientProblem& problem, const DeviceSpec& spec) {
  const auto* conv = std::get_if<ConvProblem>(&problem.layer);
  if (conv == nullptr || problem.of != GradientOf::both || !is_plain(*conv) || conv->dilation != Vec3::cube(1)) {
    return refusal(name, "both gradients of convolutions without dilation, stride or groups", problem);
  }
  if (!covers(Vec3::cube(tile_extents().back()), conv->k) || std::max(conv->in.f, conv->f_out) > max_channels) {
    return refusal(name, "gradients of kernels of up to 48 taps per axis between up to 65536 channels", problem);
  }
  const TileKernels* tiles = tile_kernels(spec.simd_floats);
  if (tiles == nullptr || weights_kernels(spec.simd_floats) == nullptr) return no_tile_kernels(name, spec.simd_floats);
  std::vector<Estimate> estimates;
  for (const Tiling& tiling : both_tilings(*conv, *tiles, spec)) {
    for (const auto& [in, out] : tile_formats(tiling.problem, spec)) {
      if (in == planar_format && conv->in.f >= tiling.lanes) continue;  // the input has this format, too
      Estimate estimate{variant_of(tiling), in, out, both_seconds(tiling, spec), {}};
      estimate.memory = both_memory(*conv, tiling, *tiles, spec.threads, in, out);
      estimates.push_back(std::move(estimate));
    }
  }
  return estimates;
}

class BothGradients final : public PreparedGradient {
 public:
  BothGradients(const ConvProblem& conv, const Tiling& tiling, std::span<const float> kernels, const TileKernels& tiles,
                const WeightsKernels& products, Executor& executor)
      : conv_(conv),
        tiling_(tiling),
        transforms_(tiling, tiles),
        kernels_(kernels),
        tiles_(tiles),
        products_(products),
        executor_(executor),
        no_bias_(static_cast<std::size_t>(tiling.out_blocks() * tiling.lanes), 0.0F) {}

  Result<void> run(const GradientViews& views, Arena& arena) override {
    take_memory(arena);
    turn_kernels(conv_, kernels_, turned_, executor_);
    for (std::int64_t batch = 0; batch < tiling_.batches(); ++batch) {
      transform(views, batch);
      multiply(batch);
      transform_back(views, batch);
    }
    for (std::size_t j = 0; j < views.bias.size(); ++j) views.bias[j] = bias_sum(static_cast<std::int64_t>(j));
    return {};
  }

 private:
  void take_memory(Arena& arena) {
    output_ = arena.grant_as<float>(gradient_spectra_name).data();
    input_ = arena.grant_as<float>(input_spectra_name).data();
    turned_ = arena.grant_as<float>(turned_name);
    spectra_ = arena.grant_as<float>(kernel_spectra_name).data();
    sums_ = arena.grant_as<float>(weights_sums_name).data();
    bias_ = arena.grant_as<double>(bias_sums_name).data();
    scratch_ = arena.grant_as<float>(gradient_scratch_name).data();
  }

  [[nodiscard]] float* scratch_of(int worker) const { return scratch_ + worker * both_worker_floats(tiling_, tiles_); }

  // Transforms windows and tiles of a batch; with the first one also the kernels, and adds up the planes of g.
  void transform(const GradientViews& views, std::int64_t batch) const {
    const std::int64_t windows = transforms_.window_tasks(batch);
    const std::int64_t tiles = windows + transforms_.tile_tasks(batch);
    const std::int64_t kernels = tiles + (batch == 0 ? conv_.f_out * tiling_.out_blocks() : 0);
    const std::int64_t planes = kernels + (batch == 0 && !views.bias.empty() ? bias_planes() : 0);
    executor_.parallel_for(planes, [&](std::int64_t task, int worker) {
      float* const scratch = scratch_of(worker);
      if (task < windows) {
        transforms_.transform_window(views.output, conv_.k - Vec3::cube(1), batch, task, output_, scratch);
      } else if (task < tiles) {
        transforms_.transform_tile(views.saved, batch, task - windows, input_, scratch);
      } else if (task < kernels) {
        transform_kernels(task - tiles, scratch);
      } else {
        sum_plane(views.output, task - kernels, bias_ + (task - kernels) * bias_row(tiling_));
      }
    });
  }

  void transform_kernels(std::int64_t index, float* scratch) const {
    const std::int64_t blocks = tiling_.out_blocks();
    tiles_.spectra({&tiling_, turned_.data(), index / blocks, index % blocks, spectra_, scratch});
  }

  void multiply(std::int64_t batch) const {
    executor_.parallel_for(tiling_.columns(), [&](std::int64_t index, int worker) {
      const std::int64_t at = index * tiling_.column_step();
      products_.column({&tiling_, tiling_.stacks_of(batch), index, batch > 0, output_ + at, input_ + at,
                        sums_ + index * weights_column_floats(tiling_), scratch_of(worker),
                        spectra_ + index * kernel_column_floats(tiling_), both_products(tiling_)});
    });
  }

  // Writes the input's gradient in the tiles of a batch; behind the last one also that of the kernels.
  void transform_back(const GradientViews& views, std::int64_t batch) const {
    const TensorView turned = turned_view(views.weights);
    const std::int64_t at_once = stacks_at_once(tiling_.out_blocks());
    const std::int64_t groups = div_up(tiling_.stacks_of(batch), at_once);
    const std::int64_t planes = groups * tiling_.n_out().z;
    const std::int64_t kernels = batch + 1 == tiling_.batches() ? conv_.f_out : 0;
    executor_.parallel_for(planes + kernels, [&](std::int64_t task, int worker) {
      float* const scratch = scratch_of(worker);
      if (task >= planes) return products_.inverse({&tiling_, sums_, task - planes, &turned, scratch});
      const std::int64_t place = task % groups * at_once;
      const std::int64_t z = task / groups;
      tiles_.inverse({&tiling_, &views.gradient, nullptr, no_bias_.data(), batch * tiling_.stacks_per_batch + place,
                      std::min(at_once, tiling_.stacks_of(batch) - place), z,
                      output_ + z * tiling_.plane_step() + place * tiling_.stack_step(), scratch});
    });
  }

  [[nodiscard]] std::int64_t bias_planes() const { return conv_.in.S * output_shape(conv_).n.z; }

  // Returns the sum of an output channel over all planes, in their order.
  [[nodiscard]] float bias_sum(std::int64_t j) const {
    const std::int64_t planes = bias_planes();
    double sum = 0.0;
    for (std::int64_t plane = 0; plane < planes; ++plane) {
      sum += bias_[plane * bias_row(tiling_) + j];
    }
    return static_cast<float>(sum);
  }

  ConvProblem conv_;
  Tiling tiling_;  // of the turned convolution
  TileTransforms transforms_;
  std::span<const float> kernels_;
  const TileKernels& tiles_;
  const WeightsKernels& products_;
  Executor& executor_;
  std::vector<float> no_bias_;
  float* output_ = nullptr;  // spectra of windows of the output's gradient, then of the input's
  float* input_ = nullptr;
  std::span<float> turned_;
  float* spectra_ = nullptr;  // of the turned kernels
  float* sums_ = nullptr;
  double* bias_ = nullptr;
  float* scratch_ = nullptr;
};

Result<std::unique_ptr<PreparedGradient>> prepare(const GradientProblem& problem, const Estimate& chosen,
                                                  const LayerWeights& weights, Arena&, Device& device) {
  const auto& conv = std::get<ConvProblem>(problem.layer);
  const TileKernels* tiles = tile_kernels(device.spec().simd_floats);
  const WeightsKernels* products = weights_kernels(device.spec().simd_floats);
  ensure(tiles != nullptr && products != nullptr, "describe() refuses vectors that are not built");
  const Tiling tiling = both_tiling(conv, *tiles, chosen.variant);
  return std::unique_ptr<PreparedGradient>(
      std::make_unique<BothGradients>(conv, tiling, weights.kernels, *tiles, *products, device.executor()));
}

}  // namespace

extern const GradientPrimitive grad_fft_tiled_both;
constinit const GradientPrimitive grad_fft_tiled_both{name, 2, DeviceKind::cpu, &describe, &prepare};

}  // namespace znni::cpu
