// cpu.grad.fft_tiled: gradients of convolutions by spectra of overlap-save tiles. That of the kernels:
// weights_tiles.hpp. That of the input is a convolution itself, of the output's gradient with d(k - 1) zeros around it
// and the kernels turned and their channels swapped; cpu.conv.fft_tiled computes it, and puts the zeros around. Kernels
// are transformed in every run, since they change in every step of a training. Phases of a dilated convolution
// (fft_tiled/phases.hpp) have tiles of their own, whose products are added.
#include <algorithm>
#include <utility>
#include <vector>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/fft_tiled/tile_choice.hpp"
#include "primitives/cpu/grad/gradients.hpp"
#include "primitives/cpu/grad/tile_transforms.hpp"
#include "primitives/cpu/grad/turned.hpp"
#include "primitives/cpu/grad/weights_plans.hpp"

namespace znni::cpu {

extern const Primitive conv_fft_tiled;

namespace {

using namespace fft_tiled;

constexpr std::string_view fft_tiled_name = "cpu.grad.fft_tiled";
// Maximum number of channels; beyond it, the products of extents may not fit.
constexpr std::int64_t max_channels = 65536;
// The model of cpu.conv.fft_tiled is fitted to runs of one layer again and again. In a step of training tensors and
// scratch come from memory, because other layers ran in between: measured on steps of deploy/models/fib25-boundary.
constexpr double cold_share = 1.3;

std::vector<Estimate> describe_weights(const GradientProblem& problem, const TileKernels& tiles,
                                       const DeviceSpec& spec) {
  const auto& conv = std::get<ConvProblem>(problem.layer);
  std::vector<Estimate> estimates;
  for (const Tiling& tiling : weights_tilings(conv, tiles, spec)) {
    for (const Format in : float_formats(spec)) {
      if (in == planar_format && std::max(conv.in.f, conv.f_out) >= tiling.lanes) continue;
      Estimate estimate{variant_of(tiling), in, planar_format, weights_seconds(tiling, spec), {}};
      estimate.memory = weights_memory(conv, tiling, spec.threads, in);
      estimates.push_back(std::move(estimate));
    }
  }
  return estimates;
}

// Returns the inner convolution's estimates that transform the kernels in every run.
std::vector<Estimate> inner_estimates(const ConvProblem& turned, const TileKernels& kernels, const DeviceSpec& spec) {
  std::vector<Estimate> estimates;
  for (TilePlan plan : tile_plans(turned, kernels, spec)) {
    plan.keep_spectra = false;
    const bool seen = std::any_of(estimates.begin(), estimates.end(),
                                  [&](const Estimate& other) { return other.variant == variant_of(plan); });
    if (seen) continue;
    for (const auto& [in, out] : tile_formats(turned, spec)) {
      estimates.push_back(estimate_of(turned, plan, kernels, spec, in, out));
    }
  }
  return estimates;
}

std::vector<Estimate> describe_input(const GradientProblem& problem, const TileKernels& kernels,
                                     const DeviceSpec& spec) {
  const auto& conv = std::get<ConvProblem>(problem.layer);
  const ConvProblem turned = turned_problem(conv);
  std::vector<Estimate> estimates;
  for (Estimate& inner : inner_estimates(turned, kernels, spec)) {
    Estimate estimate{inner.variant, inner.in, inner.out, 0, gradient_buffers(problem, inner.in, inner.out)};
    estimate.time = cold_share * inner.time;
    estimate.spread = inner.spread;
    for (Buffer& buffer : inner.memory) {
      if (buffer.name != input_name(0) && buffer.name != output_name) estimate.memory.push_back(std::move(buffer));
    }
    const std::int64_t weights = float_bytes(mul(mul(conv.f_out, conv.in.f), voxels(conv.k)));
    estimate.memory.push_back({std::string(turned_name), MemorySpace::host, weights, Lifetime::plan()});
    estimates.push_back(std::move(estimate));
  }
  return estimates;
}

Result<std::vector<Estimate>> describe_fft_tiled(const GradientProblem& problem, const DeviceSpec& spec) {
  const auto* conv = std::get_if<ConvProblem>(&problem.layer);
  if (conv == nullptr || !is_single(problem) || !is_plain(*conv)) {
    return refusal(fft_tiled_name, "gradients of convolutions without stride or groups", problem);
  }
  if (!covers(Vec3::cube(tile_extents().back()), conv->k) || std::max(conv->in.f, conv->f_out) > max_channels) {
    return refusal(fft_tiled_name, "gradients of kernels of up to 48 taps per axis between up to 65536 channels",
                   problem);
  }
  const TileKernels* tiles = tile_kernels(spec.simd_floats);
  if (tiles == nullptr || weights_kernels(spec.simd_floats) == nullptr)
    return no_tile_kernels(fft_tiled_name, spec.simd_floats);
  return problem.of == GradientOf::weights ? describe_weights(problem, *tiles, spec)
                                           : describe_input(problem, *tiles, spec);
}

class FftTiledInputGradient final : public PreparedGradient {
 public:
  FftTiledInputGradient(const ConvProblem& conv, std::span<const float> kernels, std::span<float> turned,
                        std::unique_ptr<PreparedLayer> inner, Executor& executor)
      : conv_(conv), kernels_(kernels), turned_(turned), inner_(std::move(inner)), executor_(executor) {}

  Result<void> run(const GradientViews& views, Arena& arena) override {
    turn_kernels(conv_, kernels_, turned_, executor_);
    return inner_->run({&views.output, 1}, views.gradient, arena);
  }

 private:
  ConvProblem conv_;
  std::span<const float> kernels_;
  std::span<float> turned_;
  std::unique_ptr<PreparedLayer> inner_;
  Executor& executor_;
};

class FftTiledWeightsGradient final : public PreparedGradient {
 public:
  FftTiledWeightsGradient(const Tiling& tiling, const TileKernels& tiles, const WeightsKernels& kernels,
                          Executor& executor)
      : tiling_(tiling), transforms_(tiling, tiles), kernels_(kernels), executor_(executor) {}

  Result<void> run(const GradientViews& views, Arena& arena) override {
    input_ = arena.grant_as<float>(input_spectra_name).data();
    output_ = arena.grant_as<float>(gradient_spectra_name).data();
    sums_ = arena.grant_as<float>(weights_sums_name).data();
    scratch_ = arena.grant_as<float>(gradient_scratch_name).data();
    bias_.assign(static_cast<std::size_t>(tiling_.out_blocks() * tiling_.lanes), 0.0);
    for (std::int64_t batch = 0; batch < tiling_.batches(); ++batch) {
      transform(views, batch);
      add_bias(batch);
      executor_.parallel_for(tiling_.columns(), [&](std::int64_t index, int worker) {
        const std::int64_t at = index * tiling_.column_step();
        kernels_.column({&tiling_, tiling_.stacks_of(batch), index, batch > 0, input_ + at, output_ + at,
                         sums_ + index * weights_column_floats(tiling_), scratch_of(worker)});
      });
    }
    executor_.parallel_for(tiling_.problem.in.f, [&](std::int64_t index, int worker) {
      kernels_.inverse({&tiling_, sums_, index, &views.gradient, scratch_of(worker)});
    });
    for (std::size_t j = 0; j < views.bias.size(); ++j) views.bias[j] = static_cast<float>(bias_[j]);
    return {};
  }

 private:
  float* scratch_of(int worker) const { return scratch_ + worker * weights_worker_floats(tiling_); }

  // Adds the bias's gradient of a batch: the sum of all voxels of a plane of a tile is the first value of its spectrum.
  void add_bias(std::int64_t batch) {
    const std::int64_t planes = tiling_.tiles().z * tiling_.m().z;
    for (std::int64_t z = 0; z < planes; ++z) {
      for (std::int64_t stack = 0; stack < tiling_.stacks_of(batch); ++stack) {
        const float* const first = output_ + z * tiling_.plane_step() + stack * tiling_.stack_step();
        for (std::size_t j = 0; j < bias_.size(); ++j) {
          const auto channel = static_cast<std::int64_t>(j);
          bias_[j] += first[channel / tiling_.lanes * tiling_.block_step() + channel % tiling_.lanes];
        }
      }
    }
  }

  void transform(const GradientViews& views, std::int64_t batch) const {
    const std::int64_t windows = transforms_.window_tasks(batch);
    executor_.parallel_for(windows + transforms_.tile_tasks(batch), [&](std::int64_t task, int worker) {
      if (task < windows) return transforms_.transform_window(views.saved, {}, batch, task, input_, scratch_of(worker));
      transforms_.transform_tile(views.output, batch, task - windows, output_, scratch_of(worker));
    });
  }

  Tiling tiling_;
  TileTransforms transforms_;
  const WeightsKernels& kernels_;
  Executor& executor_;
  std::vector<double> bias_;  // per output channel, padding included
  float* input_ = nullptr;
  float* output_ = nullptr;
  float* sums_ = nullptr;
  float* scratch_ = nullptr;
};

Result<std::unique_ptr<PreparedGradient>> prepare_input(const ConvProblem& conv, const Estimate& chosen,
                                                        const LayerWeights& weights, Arena& persistent,
                                                        Device& device) {
  const TileKernels& kernels = *tile_kernels(device.spec().simd_floats);
  const ConvProblem turned = turned_problem(conv);
  const TilePlan plan = tile_plan(turned, kernels, chosen.variant);
  const std::span<float> own = persistent.grant_as<float>(turned_name);
  const Estimate inner = estimate_of(turned, plan, kernels, device.spec(), chosen.in, chosen.out);
  Result<std::unique_ptr<PreparedLayer>> layer =
      conv_fft_tiled.prepare(turned, inner, {own, {}, {}, {}}, persistent, device);
  if (!layer) return layer.error();
  return std::unique_ptr<PreparedGradient>(
      std::make_unique<FftTiledInputGradient>(conv, weights.kernels, own, *std::move(layer), device.executor()));
}

Result<std::unique_ptr<PreparedGradient>> prepare_fft_tiled(const GradientProblem& problem, const Estimate& chosen,
                                                            const LayerWeights& weights, Arena& persistent,
                                                            Device& device) {
  const auto& conv = std::get<ConvProblem>(problem.layer);
  const TileKernels* tiles = tile_kernels(device.spec().simd_floats);
  const WeightsKernels* kernels = weights_kernels(device.spec().simd_floats);
  ensure(tiles != nullptr && kernels != nullptr, "describe() refuses vectors that are not built");
  if (problem.of == GradientOf::input) return prepare_input(conv, chosen, weights, persistent, device);
  const Tiling tiling = weights_tiling(conv, *tiles, chosen.variant);
  return std::unique_ptr<PreparedGradient>(
      std::make_unique<FftTiledWeightsGradient>(tiling, *tiles, *kernels, device.executor()));
}

}  // namespace

extern const GradientPrimitive grad_fft_tiled;
constinit const GradientPrimitive grad_fft_tiled{fft_tiled_name, 3, DeviceKind::cpu, &describe_fft_tiled,
                                                 &prepare_fft_tiled};

}  // namespace znni::cpu
