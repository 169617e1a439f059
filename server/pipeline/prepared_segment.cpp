#include "server/pipeline/prepared_segment.hpp"

#include <utility>
#include <variant>

#include "primitives/core/index.hpp"
#include "primitives/hybrid/divided_layer.hpp"
#include "server/pipeline/exchanged_kernels.hpp"
#include "server/pipeline/job_cancelled.hpp"

namespace znni {

Result<PreparedSegment> PreparedSegment::open(SegmentDesign design, const NetworkWeights& weights,
                                              const PlaceDevices& devices, const Arena::Poison& poison) {
  const auto giver = [&](MemorySpace space) -> Device& { return devices.giver(design.place, space); };
  Result<ScheduleMemory> memory = ScheduleMemory::reserve(design.schedule, giver);
  if (!memory) return memory.error();
  PreparedSegment segment(std::move(design), *std::move(memory), devices);
  segment.exchange_kernels_of(weights);
  for (const Call& call : segment.design_.schedule.calls) {
    Result<Task> task = segment.prepare(call, weights, devices, poison);
    if (!task) return task.error();
    segment.tasks_.push_back(std::move(*task));
  }
  segment.lay_histories();
  return segment;
}

void PreparedSegment::lay_histories() {
  for (const ScheduledHistory& history : design_.schedule.histories) {
    const ScheduledTensor& tensor = design_.schedule.tensors[index(history.tensor)];
    auto* const kept = reinterpret_cast<float*>(memory_.place(history.buffer));
    const int number = static_cast<int>(histories_.size());
    histories_.emplace_back(view(history.tensor, nullptr), tensor.around.begin.z, history.runs, kept);
    if (history.tensor == 0) input_history_ = number;
    for (Task& task : tasks_) {
      if (task.output == history.tensor) task.history = number;
    }
  }
}

void PreparedSegment::exchange_kernels_of(const NetworkWeights& weights) {
  if (design_.schedule.kernels < 0) return;
  kernels_ = exchanged_kernels(design_.geometry, own_of(weights), memory_.place(design_.schedule.kernels));
}

std::span<const NodeWeights> PreparedSegment::own_of(const NetworkWeights& weights) const {
  return std::span(weights).subspan(index(design_.first_node), design_.network.nodes.size());
}

Result<PreparedSegment::Task> PreparedSegment::prepare(const Call& call, const NetworkWeights& weights,
                                                       const PlaceDevices& devices, const Arena::Poison& poison) {
  const Step& step = design_.steps[index(call.step)];
  const int node = step.node;
  Task task;
  const std::string what = node < 0 ? "input" : "node " + design_.network.nodes[index(node)].name;
  task.name = what + ": " + std::string(call.primitive->name);
  task.inputs = call.inputs;
  task.output = call.output;
  task.views.resize(call.inputs.size());
  task.around = call.around;
  task.arena = std::make_unique<Arena>(memory_.placements(call));
  if (poison) task.arena->poison_with(poison);
  const LayerWeights own = weights_of(call, node, own_of(weights), kernels_);
  const bool divided = !step.division.empty() && !call.is_reorder;
  Result<std::unique_ptr<PreparedLayer>> layer =
      divided ? hybrid::prepare_divided(std::get<ConvProblem>(call.problem),
                                        divided_choice(step, *call.primitive, call.reorder), own, *task.arena,
                                        *devices.gpu, poison)
              : call.primitive->prepare(call.problem, call.estimate, own, *task.arena,
                                        devices.computer(design_.place, divided));
  if (!layer) return layer.error().within(task.name);
  task.layer = std::move(*layer);
  return task;
}

// Of a whole tensor, the planes of earlier steps included; of any but the output.
TensorView PreparedSegment::view(int tensor, float* input) const {
  const ScheduledTensor& of = design_.schedule.tensors[index(tensor)];
  return tensor == 0 ? dense_view(input, of.shape, of.format) : memory_.view(of);
}

Result<void> PreparedSegment::run_task(Task& task, float* input, const TensorView& output) {
  for (std::size_t i = 0; i < task.inputs.size(); ++i) {
    task.views[i] = view_within(view(task.inputs[i], input), task.around[i]);
  }
  const std::int64_t behind = design_.schedule.tensors[index(task.output)].around.begin.z;
  const bool is_last = task.output == design_.schedule.output;
  task.arena->begin();
  Result<void> done =
      task.layer->run(task.views, is_last ? output : view_from(view(task.output, input), {behind, 0, 0}), *task.arena);
  return done ? done : done.error().within(task.name);
}

Result<void> PreparedSegment::run(float* input, const TensorView& output, std::int64_t number,
                                  const std::stop_token& stop) {
  if (Result<void> rolled = roll(input_history_, input, number); !rolled) return rolled;
  for (Task& task : tasks_) {
    if (stop.stop_requested()) return job_cancelled();
    if (Result<void> ran = run_task(task, input, output); !ran) return ran;
    if (task.history < 0) continue;
    if (Result<void> rolled = roll(task.history, view(task.output, input).data, number); !rolled) return rolled;
  }
  return {};
}

Result<void> PreparedSegment::roll(int history, float* tensor, std::int64_t number) {
  if (history < 0) return {};
  const History& of = histories_[index(history)];
  if (design_.place == Place::gpu) return of.roll(tensor, number, *gpu_);
  of.roll(tensor, number, *executor_);
  return {};
}

Result<void> PreparedSegment::forget() {
  for (const History& history : histories_) {
    if (design_.place != Place::gpu) {
      history.forget(*executor_);
    } else if (Result<void> done = history.forget(*gpu_); !done) {
      return done;
    }
  }
  return {};
}

}  // namespace znni
