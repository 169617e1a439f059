// Convolution by FFT, task parallel (ZNNi section IV.A.3). Three kinds of work follow one another: transforms of input
// channels; transforms of kernels with their multiply-adds; transforms of output channels. Before, between and after
// them run four synchronization tasks; only these take memory from the arena.
#include <atomic>
#include <utility>

#include "primitives/cpu/device/chip_tasks.hpp"
#include "primitives/cpu/device/meeting.hpp"
#include "primitives/cpu/fft/conv_fft_layer.hpp"
#include "primitives/cpu/fft/conv_fft_memory.hpp"
#include "primitives/cpu/fft/conv_fft_model.hpp"
#include "primitives/cpu/fft/multiply_add.hpp"

namespace znni::cpu {
namespace {

constexpr std::string_view task_parallel_name = "cpu.conv.fft_task_parallel";

// Roles of the workers; the same in every run.
struct Team {
  std::vector<int> chip_of_worker;
  std::vector<int> primaries;

  // Returns the index of the kernel buffer of `worker`; -1 if it is not a primary thread.
  [[nodiscard]] std::int64_t buffer_of(int worker) const {
    for (std::size_t index = 0; index < primaries.size(); ++index) {
      if (primaries[index] == worker) return static_cast<std::int64_t>(index);
    }
    return -1;
  }
};

class TaskParallelRun {
 public:
  TaskParallelRun(const ConvFftLayer& layer, const Team& team, std::span<const TensorView> inputs,
                  const TensorView& out, Arena& arena)
      : layer_(layer),
        team_(team),
        inputs_(inputs),
        out_(out),
        arena_(arena),
        tasks_(team.chip_of_worker, team.primaries),
        meeting_(static_cast<int>(team.chip_of_worker.size())) {}

  void work(int worker) {
    meet();
    for (std::int64_t index = next_channel_++; index < inputs(); index = next_channel_++)
      transform_input(index, worker);
    meet();
    transform_kernels(worker);
    meet();
    for (std::int64_t index = next_output_++; index < outputs(); index = next_output_++) {
      transform_output(index, worker);
    }
    meet();
  }

 private:
  // Waits for all workers. The last one that comes runs the synchronization task.
  void meet() {
    meeting_.meet([this]() noexcept { synchronize(); });
  }

  // Runs the next of the four synchronization tasks.
  void synchronize() {
    switch (synchronizations_++) {
      case 0: channels_ = arena_.grant_as<Complex>(channel_transforms).data(); break;
      case 1:  // the input is dead
        arena_.stage(1);
        kernels_ = arena_.grant_as<Complex>(kernel_transforms).data();
        sums_ = arena_.grant_as<Complex>(output_transforms).data();
        break;
      case 2: arena_.stage(2); break;  // their transforms and the kernels are dead, the output may be written
      default: break;                  // the transforms of the output are dead
    }
  }

  [[nodiscard]] std::int64_t inputs() const { return layer_.problem().in.S * layer_.problem().in.f; }
  [[nodiscard]] std::int64_t outputs() const { return layer_.problem().in.S * layer_.problem().f_out; }

  void transform_input(std::int64_t index, int worker) {
    const std::int64_t f = layer_.problem().in.f;
    const Voxels from = channel_voxels(inputs_[0], index / f, index % f);
    layer_.channel_fft().run({from.data, from.step}, channels_ + index * layer_.elements(), layer_.tile(worker));
  }

  // Transforms kernels. A primary thread takes one output channel after the other and all its kernels in rising order,
  // so that sums over i always have the same order. Other workers, and primary threads that are done, help their chip.
  void transform_kernels(int worker) {
    const std::int64_t buffer = team_.buffer_of(worker);
    if (buffer >= 0) {
      Complex* kernel = kernels_ + buffer * layer_.elements();
      for (std::int64_t j = next_j_++; j < layer_.problem().f_out; j = next_j_++) {
        for (std::int64_t i = 0; i < layer_.problem().in.f; ++i) transform_kernel(j, i, kernel, worker);
      }
      tasks_.retire(worker);
    }
    tasks_.help(worker);
  }

  void transform_kernel(std::int64_t j, std::int64_t i, Complex* kernel, int worker) {
    layer_.kernel_fft().run(layer_.kernel(j, i), kernel, layer_.tile(worker));
    const auto add = [&](std::int64_t s, int) {
      const Complex* channel = channels_ + (s * layer_.problem().in.f + i) * layer_.elements();
      Complex* sum = sums_ + (s * layer_.problem().f_out + j) * layer_.elements();
      if (i == 0) return multiply(channel, kernel, sum, layer_.elements());
      multiply_add(channel, kernel, sum, layer_.elements());
    };
    tasks_.share(worker, layer_.problem().in.S, add);
  }

  void transform_output(std::int64_t index, int worker) {
    const std::int64_t s = index / layer_.problem().f_out;
    const std::int64_t j = index % layer_.problem().f_out;
    layer_.output_fft().run(sums_ + index * layer_.elements(), layer_.finish(inputs_, s, j), channel_voxels(out_, s, j),
                            layer_.tile(worker));
  }

  const ConvFftLayer& layer_;
  const Team& team_;
  std::span<const TensorView> inputs_;
  const TensorView& out_;
  Arena& arena_;
  ChipTasks tasks_;
  std::atomic<std::int64_t> next_channel_{0};
  std::atomic<std::int64_t> next_j_{0};
  std::atomic<std::int64_t> next_output_{0};
  int synchronizations_ = 0;
  Complex* channels_ = nullptr;
  Complex* kernels_ = nullptr;
  Complex* sums_ = nullptr;
  Meeting meeting_;
};

class TaskParallelLayer final : public PreparedLayer {
 public:
  TaskParallelLayer(ConvFftLayer layer, Team team, Executor& executor)
      : layer_(std::move(layer)), team_(std::move(team)), executor_(executor) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena& arena) override {
    TaskParallelRun run(layer_, team_, inputs, out, arena);
    executor_.on_every_worker([&run](std::int64_t, int worker) { run.work(worker); });
    return {};
  }

 private:
  ConvFftLayer layer_;
  Team team_;
  Executor& executor_;
};

Result<std::vector<Estimate>> describe_task_parallel(const LayerProblem& problem, const DeviceSpec& spec) {
  const Result<ConvProblem> conv = as_convolution(task_parallel_name, problem);
  if (!conv) return conv.error();
  Estimate estimate{{}, {}, {}, task_parallel_seconds(*conv, spec), task_parallel_memory(*conv, spec.threads)};
  estimate.spread = spread_of_whole(*conv);
  return std::vector<Estimate>{std::move(estimate)};
}

Result<std::unique_ptr<PreparedLayer>> prepare_task_parallel(const LayerProblem& problem, const Estimate&,
                                                             const LayerWeights& weights, Arena& persistent,
                                                             Device& device) {
  Result<ConvFftLayer> layer = ConvFftLayer::make(problem, weights, persistent, device);
  if (!layer) return layer.error();
  const int workers = device.executor().workers();
  Team team{worker_chips(workers), {}};
  team.primaries = choose_primaries(team.chip_of_worker, primary_threads(workers, layer->problem().f_out));
  return std::unique_ptr<PreparedLayer>(
      std::make_unique<TaskParallelLayer>(std::move(*layer), std::move(team), device.executor()));
}

}  // namespace

extern const Primitive conv_fft_task_parallel;
constinit const Primitive conv_fft_task_parallel{
    task_parallel_name, 3, DeviceKind::cpu, &describe_task_parallel, &prepare_task_parallel, &min_conv_fft_time};

}  // namespace znni::cpu
