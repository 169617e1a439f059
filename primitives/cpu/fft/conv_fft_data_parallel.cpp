// Convolution by FFT, data parallel (ZNNi section IV.A.2): transforms and products follow one another, and all workers
// share each of them. It needs less memory than the task-parallel form and is faster if there are few channels.
#include <algorithm>
#include <utility>

#include "primitives/cpu/device/meeting.hpp"
#include "primitives/cpu/fft/conv_fft_layer.hpp"
#include "primitives/cpu/fft/conv_fft_memory.hpp"
#include "primitives/cpu/fft/conv_fft_model.hpp"
#include "primitives/cpu/fft/multiply_add.hpp"

namespace znni::cpu {
namespace {

constexpr std::string_view data_parallel_name = "cpu.conv.fft_data_parallel";

// One run. All workers go through the same loops. Each worker does a fixed share of every part of every transform, so
// that sums always have the same order and the same arithmetic.
class DataParallelRun {
 public:
  DataParallelRun(const ConvFftLayer& layer, std::span<const TensorView> inputs, const TensorView& out,
                  Executor& executor)
      : layer_(layer),
        inputs_(inputs),
        out_(out),
        executor_(executor),
        plane_elements_(plane_elements(layer.n_fft())),
        meeting_(executor.workers()) {}

  void run(Arena& arena) {
    channels_ = arena.grant_as<Complex>(channel_transforms).data();
    executor_.on_every_worker([this](std::int64_t, int worker) { transform_channels(worker); });
    arena.stage(1);  // input 0 is dead
    kernels_ = arena.grant_as<Complex>(kernel_transforms).data();
    sums_ = arena.grant_as<Complex>(output_transforms).data();
    executor_.on_every_worker([this](std::int64_t, int worker) {
      for (std::int64_t j = 0; j < layer_.problem().f_out; ++j) output_channel(j, worker);
    });
  }

 private:
  // Returns the part [first, second) of `count` for `worker`.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> share(std::int64_t count, int worker) const {
    const std::int64_t workers = executor_.workers();
    return {share_begin(count, worker, workers), share_begin(count, worker + 1, workers)};
  }

  void meet() { meeting_.meet(); }

  // Transforms all channels of all inputs. So that the workers synchronise rarely, they do so once for as many channels
  // as stay in a cache between the steps.
  void transform_channels(int worker) {
    const std::int64_t count = layer_.problem().in.S * layer_.problem().in.f;
    const std::int64_t group = channels_per_meeting(layer_.problem());
    for (std::int64_t i = 0; i < count; i += group) transform_group(i, std::min(group, count - i), worker);
  }

  // Transforms `count` channels from `first` on, numbered through all inputs: planes, a synchronisation, then columns.
  void transform_group(std::int64_t first, std::int64_t count, int worker) {
    const std::int64_t f = layer_.problem().in.f;
    const PrunedForward& fft = layer_.channel_fft();
    const auto [first_plane, last_plane] = share(count * fft.planes(), worker);
    for (std::int64_t p = first_plane; p < last_plane; ++p) {
      const std::int64_t i = first + p / fft.planes();
      const Voxels from = channel_voxels(inputs_[0], i / f, i % f);
      fft.plane({from.data, from.step}, p % fft.planes(), channel(i / f, i % f), layer_.tile(worker));
    }
    meet();
    const std::int64_t blocks = fft.columns().count();
    const auto [first_block, last_block] = share(count * blocks, worker);
    for (std::int64_t b = first_block; b < last_block; ++b) {
      const std::int64_t i = first + b / blocks;
      fft.column_block(b % blocks, channel(i / f, i % f), layer_.tile(worker));
    }
  }

  // Computes output channel j of every input. A worker transforms columns of the kernels, multiplies and adds them, and
  // transforms the same columns back along z. So these steps need no synchronisation, and a kernel's transform is not
  // stored. Its memory holds the planes of as many kernels as fit, and the workers synchronise once for all of them.
  void output_channel(std::int64_t j, int worker) {
    const std::int64_t f = layer_.problem().in.f;
    const std::int64_t group = layer_.n_fft().z / layer_.kernel_fft().planes();
    for (std::int64_t i = 0; i < f; i += group) {
      add_kernels(j, i, std::min(group, f - i), worker);
      meet();  // the next kernels overwrite these
    }
    const PrunedInverse& fft = layer_.output_fft();
    const std::int64_t S = layer_.problem().in.S;
    const auto [first_block, last_block] = share(fft.columns().count(), worker);
    for (std::int64_t s = 0; s < S; ++s) {
      for (std::int64_t b = first_block; b < last_block; ++b) fft.column_block(b, sum(s), layer_.tile(worker));
    }
    meet();
    const auto [first_plane, last_plane] = share(S * fft.planes(), worker);
    for (std::int64_t p = first_plane; p < last_plane; ++p) {
      const std::int64_t s = p / fft.planes();
      fft.plane(p % fft.planes(), sum(s), layer_.finish(inputs_, s, j), channel_voxels(out_, s, j),
                layer_.tile(worker));
    }
  }

  // Adds kernels [i, i + count) of output channel j: planes, a synchronisation, then columns with their products.
  void add_kernels(std::int64_t j, std::int64_t i, std::int64_t count, int worker) {
    const PrunedForward& fft = layer_.kernel_fft();
    const auto [first_plane, last_plane] = share(count * fft.planes(), worker);
    for (std::int64_t p = first_plane; p < last_plane; ++p) {
      const ConstVoxels kernel = layer_.kernel(j, i + p / fft.planes());
      fft.packed_plane(kernel, p % fft.planes(), kernels_ + p * plane_elements_, layer_.tile(worker));
    }
    meet();
    const auto [first_block, last_block] = share(fft.columns().count(), worker);
    for (std::int64_t b = first_block; b < last_block; ++b) {
      for (std::int64_t g = 0; g < count; ++g) {
        const Complex* planes = kernels_ + g * fft.planes() * plane_elements_;
        fft.packed_column_block(b, planes, layer_.tile(worker), layer_.tile(worker, 1).data());
        for (std::int64_t s = 0; s < layer_.problem().in.S; ++s) {
          const bool last_input = s + 1 == layer_.problem().in.S;
          const bool last_kernel = last_input && g + 1 == count;
          const Complex* next = last_kernel  ? (b + 1 < last_block ? channel(0, i) + tile_lines : nullptr)
                                : last_input ? channel(0, i + g + 1)
                                             : channel(s + 1, i + g);
          add_product(s, i + g, b, next, worker);
        }
      }
    }
  }

  // Adds the product of the block of columns in the worker's second tile with that of channel (s, i). `next` is the
  // channel after this one, or this one at the next block if it is the last. It is prefetched, because reading it
  // limits this loop.
  void add_product(std::int64_t s, std::int64_t i, std::int64_t block, const Complex* next, int worker) {
    const std::int64_t lines = layer_.kernel_fft().columns().lines(block);
    const Complex* row = layer_.tile(worker, 1).data();
    std::int64_t at = layer_.kernel_fft().columns().first(block);
    for (std::int64_t z = 0; z < layer_.n_fft().z; ++z, at += plane_elements_, row += tile_lines) {
      if (next != nullptr) prefetch(next + at, lines);
      i == 0 ? multiply(channel(s, i) + at, row, sum(s) + at, lines)
             : multiply_add(channel(s, i) + at, row, sum(s) + at, lines);
    }
  }

  [[nodiscard]] Complex* channel(std::int64_t s, std::int64_t i) const {
    return channels_ + (s * layer_.problem().in.f + i) * layer_.elements();
  }
  [[nodiscard]] Complex* sum(std::int64_t s) const { return sums_ + s * layer_.elements(); }

  const ConvFftLayer& layer_;
  std::span<const TensorView> inputs_;
  const TensorView& out_;
  Executor& executor_;
  std::int64_t plane_elements_;
  Meeting meeting_;
  Complex* channels_ = nullptr;
  Complex* kernels_ = nullptr;
  Complex* sums_ = nullptr;
};

class DataParallelLayer final : public PreparedLayer {
 public:
  DataParallelLayer(ConvFftLayer layer, Executor& executor) : layer_(std::move(layer)), executor_(executor) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena& arena) override {
    DataParallelRun(layer_, inputs, out, executor_).run(arena);
    return {};
  }

 private:
  ConvFftLayer layer_;
  Executor& executor_;
};

Result<std::vector<Estimate>> describe_data_parallel(const LayerProblem& problem, const DeviceSpec& spec) {
  const Result<ConvProblem> conv = as_convolution(data_parallel_name, problem);
  if (!conv) return conv.error();
  Estimate estimate{{}, {}, {}, data_parallel_seconds(*conv, spec), data_parallel_memory(*conv, spec.threads)};
  estimate.spread = spread_of_whole(*conv);
  return std::vector<Estimate>{std::move(estimate)};
}

Result<std::unique_ptr<PreparedLayer>> prepare_data_parallel(const LayerProblem& problem, const Estimate&,
                                                             const LayerWeights& weights, Arena& persistent,
                                                             Device& device) {
  Result<ConvFftLayer> layer = ConvFftLayer::make(problem, weights, persistent, device);
  if (!layer) return layer.error();
  return std::unique_ptr<PreparedLayer>(std::make_unique<DataParallelLayer>(std::move(*layer), device.executor()));
}

}  // namespace

extern const Primitive conv_fft_data_parallel;
constinit const Primitive conv_fft_data_parallel{
    data_parallel_name, 4, DeviceKind::cpu, &describe_data_parallel, &prepare_data_parallel, &min_conv_fft_time};

}  // namespace znni::cpu
