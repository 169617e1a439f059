// Convolution by FFT over overlap-save tiles, with one complex matrix product per frequency. Channels lie in the vector
// lanes from a blocked input to a blocked output, so nothing is transposed. The spectra of tiles and kernels are
// multiplied as (tiles x f) by (f x f_out) matrices. So each kernel spectrum is reused for all tiles of a batch. Tiles:
// fft_tiled/tiling.hpp. ZNNi section IV.A differs: its transforms span the input, and its products read a kernel
// spectrum for a single multiplication. A dilated convolution is computed in phases (fft_tiled/phases.hpp).
#include <algorithm>
#include <limits>
#include <utility>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/fft_tiled/batch_pipeline.hpp"
#include "primitives/cpu/fft_tiled/tile_bound.hpp"
#include "primitives/cpu/fft_tiled/tile_choice.hpp"
#include "primitives/cpu/fft_tiled/tile_kernels.hpp"
#include "primitives/cpu/fft_tiled/tile_memory.hpp"

namespace znni::cpu {
namespace {

using namespace fft_tiled;

constexpr std::string_view fft_tiled_name = "cpu.conv.fft_tiled";
// Maximum number of channels; beyond it, the products of extents may not fit.
constexpr std::int64_t max_channels = 65536;
// Workers that transform the kernels when a layer is loaded. No plan declares their scratch, so it is kept small.
constexpr std::int64_t loading_parts = 4;

class TiledLayer final : public PreparedLayer {
 public:
  TiledLayer(const TilePlan& plan, const TileKernels& kernels, const LayerWeights& weights, Executor& executor)
      : plan_(plan), kernels_(kernels), weights_(weights), executor_(executor) {}

  // Fills the persistent buffers. `kept`: persistent spectra, or empty.
  void keep(std::span<float> kept, std::span<float> bias, std::span<float> scratch) {
    spectra_ = kept;
    bias_ = bias;
    copy_padded(weights_.bias, bias);
    if (!kept.empty()) transform_kernels(scratch, loading_parts);
  }

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena& arena) override {
    scratch_ = arena.grant_as<float>(worker_scratch_name);
    batches_ = arena.grant_as<float>(tile_spectra_name);
    if (!plan_.keep_spectra) {
      spectra_ = arena.grant_as<float>(kernel_spectra_name);
      transform_kernels(scratch_, executor_.workers());
    }
    const auto run_one = [&](const BatchTask& task, int worker) { run_task(task, inputs, out, worker); };
    const std::int64_t batches = plan_.tiling.batches();
    if (plan_.own_batches) {
      executor_.parallel_for(batches, [&](std::int64_t batch, int worker) { run_batch(batch, worker, run_one); });
    } else {
      BatchPipeline(batches, task_counts(0), task_counts(batches - 1), plan_.slots).run(executor_, run_one);
    }
    return {};
  }

 private:
  // Returns part `index` of `parts` equal ones.
  static float* part(std::span<float> scratch, std::int64_t index, std::int64_t parts) {
    return scratch.data() + index * (static_cast<std::int64_t>(scratch.size()) / parts);
  }

  // Returns the zeros around each phase of an input that is smaller than the layer's: it stands in the middle (the
  // gradient of an output, which is the input of a layer in a training).
  [[nodiscard]] Vec3 border_around(const TensorView& in) const {
    const Tiling& t = plan_.tiling;
    return (t.problem.in.n - phase_view(in, t.phases.dilation, {}).shape.n) / Vec3::cube(2);
  }

  void transform_kernels(std::span<float> scratch, std::int64_t parts) {
    const Tiling& t = plan_.tiling;
    const std::int64_t count = spectra_tasks(t);
    executor_.parallel_for(parts, [&](std::int64_t index, int) {
      float* const own = part(scratch, index, parts);
      for (std::int64_t i = index * count / parts; i < (index + 1) * count / parts; ++i) {
        const KernelsOf kernels = spectra_task(t, i);
        kernels_.spectra({&t, weights_.kernels.data(), kernels.channel, kernels.block, spectra_.data(), own});
      }
    });
  }

  // Returns the number of tasks of each phase of a batch.
  [[nodiscard]] std::array<std::int64_t, 3> task_counts(std::int64_t batch) const {
    const Tiling& t = plan_.tiling;
    const std::int64_t stacks = t.stacks_of(batch);
    return {div_up(stacks, stacks_at_once(t, t.in_blocks())) * t.planes(), t.columns(),
            div_up(stacks, stacks_at_once(t, t.out_blocks())) * t.n_out().z};
  }

  // Runs all tasks of a batch on one worker.
  template <class Run>
  void run_batch(std::int64_t batch, int worker, const Run& run_one) const {
    const std::array<std::int64_t, 3> counts = task_counts(batch);
    for (const BatchPhase phase : {BatchPhase::forward, BatchPhase::column, BatchPhase::inverse}) {
      for (std::int64_t i = 0; i < counts[static_cast<std::size_t>(phase)]; ++i) run_one({batch, phase, i}, worker);
    }
  }

  // Returns the memory of a batch's spectra.
  [[nodiscard]] float* spectra_of(std::int64_t batch, int worker) const {
    const std::int64_t held = plan_.held(executor_.workers());
    const std::int64_t place = plan_.own_batches ? worker : batch % held;
    return batches_.data() + place * (static_cast<std::int64_t>(batches_.size()) / held);
  }

  void run_task(const BatchTask& task, std::span<const TensorView> inputs, const TensorView& out, int worker) {
    const Tiling& t = plan_.tiling;
    float* const spectra = spectra_of(task.batch, worker);
    float* const scratch = part(scratch_, worker, executor_.workers());
    const std::int64_t stacks = t.stacks_of(task.batch);
    if (task.phase == BatchPhase::column) {
      const float* kernels = spectra_.data() + task.index * kernel_column_floats(t);
      return kernels_.column({&t, stacks, spectra + task.index * t.column_step(), kernels, scratch, plan_.products});
    }
    const bool forward = task.phase == BatchPhase::forward;
    const std::int64_t at_once = stacks_at_once(t, forward ? t.in_blocks() : t.out_blocks());
    const std::int64_t groups = div_up(stacks, at_once);
    const std::int64_t place = task.index % groups * at_once;
    const std::int64_t z = task.index / groups;
    const std::int64_t first = task.batch * t.stacks_per_batch + place;
    const std::int64_t count = std::min(at_once, stacks - place);
    float* const plane = spectra + z * t.plane_step() + place * t.stack_step();
    if (forward) {
      return kernels_.forward(
          {&t, &inputs[0], first, count, z, plane, scratch, border_around(inputs[0]), !plan_.own_batches});
    }
    const TensorView* const residual = t.problem.residual ? &inputs[1] : nullptr;
    kernels_.inverse({&t, &out, residual, bias_.data(), first, count, z, plane, scratch});
  }

  TilePlan plan_;
  const TileKernels& kernels_;
  LayerWeights weights_;
  Executor& executor_;
  std::span<float> spectra_;
  std::span<float> bias_;
  std::span<float> scratch_;
  std::span<float> batches_;
};

bool has_tiles(const ConvProblem& conv) {
  return covers(Vec3::cube(tile_extents().back()), conv.k) && std::max(conv.in.f, conv.f_out) <= max_channels;
}

Result<std::vector<Estimate>> describe_fft_tiled(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* conv = std::get_if<ConvProblem>(&problem);
  if (conv == nullptr) return refusal(fft_tiled_name, "convolutions", problem);
  if (!is_plain(*conv)) return refusal(fft_tiled_name, "convolutions without stride or groups", problem);
  if (conv->local) return refusal(fft_tiled_name, "convolutions of finite voxels", problem);
  if (!has_tiles(*conv)) {
    return refusal(fft_tiled_name, "kernels of up to 48 taps per axis between up to 65536 channels", problem);
  }
  const TileKernels* kernels = tile_kernels(spec.simd_floats);
  if (kernels == nullptr) return no_tile_kernels(fft_tiled_name, spec.simd_floats);
  std::vector<Estimate> estimates;
  for (const TilePlan& plan : tile_plans(*conv, *kernels, spec)) {
    for (const auto& [in, out] : tile_formats(*conv, spec))
      estimates.push_back(estimate_of(*conv, plan, *kernels, spec, in, out));
  }
  return estimates;
}

Seconds min_fft_tiled_time(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* conv = std::get_if<ConvProblem>(&problem);
  const TileKernels* kernels = tile_kernels(spec.simd_floats);
  const bool is_plain_one = conv != nullptr && is_plain(*conv) && !conv->local;
  const bool is_computed = is_plain_one && kernels != nullptr && has_tiles(*conv);
  if (!is_computed) return std::numeric_limits<Seconds>::infinity();
  return min_tile_seconds(*conv, kernels->lanes, spec);
}

Result<std::unique_ptr<PreparedLayer>> prepare_fft_tiled(const LayerProblem& problem, const Estimate& chosen,
                                                         const LayerWeights& weights, Arena& persistent,
                                                         Device& device) {
  const auto* conv = std::get_if<ConvProblem>(&problem);
  ensure(conv != nullptr, "describe() refuses what is no convolution");
  const TileKernels* kernels = tile_kernels(device.spec().simd_floats);
  ensure(kernels != nullptr, "describe() refuses vectors that are not built");
  const TilePlan plan = tile_plan(*conv, *kernels, chosen.variant);
  auto layer = std::make_unique<TiledLayer>(plan, *kernels, weights, device.executor());
  std::span<float> kept;
  std::vector<float> scratch;  // some megabytes, only while loading
  if (plan.keep_spectra) {
    kept = persistent.grant_as<float>(kernel_spectra_name);
    scratch.resize(static_cast<std::size_t>(loading_parts * spectra_scratch(plan.tiling)));
  }
  layer->keep(kept, persistent.grant_as<float>(bias_name), scratch);
  return std::unique_ptr<PreparedLayer>(std::move(layer));
}

}  // namespace

extern const Primitive conv_fft_tiled;
constinit const Primitive conv_fft_tiled{
    fft_tiled_name, 7, DeviceKind::cpu, &describe_fft_tiled, &prepare_fft_tiled, &min_fft_tiled_time};

}  // namespace znni::cpu
