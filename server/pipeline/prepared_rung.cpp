#include "server/pipeline/prepared_rung.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

#include "planner/network/exchange.hpp"
#include "planner/plan/pairs.hpp"
#include "primitives/core/clock_time.hpp"
#include "primitives/core/index.hpp"
#include "server/pipeline/exchanged_kernels.hpp"
#include "server/pipeline/job_cancelled.hpp"
#include "server/pipeline/outside.hpp"

namespace znni {
namespace {

// Returns where, along closed axes, the tensor of a value begins in its window of the framed volume.
Vec3 start_of_closed(const ClosedAxes& closed, int value) {
  if (closed.cuts.empty()) return {};
  return closed.cuts[static_cast<std::size_t>(value)].begin - margin_of(closed, value).begin;
}

std::string call_name(const Call& call) {
  return "step " + std::to_string(call.step) + ": " + std::string(call.primitive->name);
}

}  // namespace

Result<PreparedRung> PreparedRung::open(RungDesign design, const NetworkWeights& weights, std::byte* transient,
                                        Device& device, bool poison) {
  const Schedule& schedule = design.schedule;
  const auto giver = [&device](MemorySpace) -> Device& { return device; };
  Result<ScheduleMemory> memory = ScheduleMemory::reserve_beside(schedule, design.packing, transient, giver);
  if (!memory) return memory.error();
  PreparedRung rung(design.geometry, *std::move(memory), device.executor());
  if (schedule.kernels >= 0) {
    rung.kernels_ = exchanged_kernels(rung.geometry_, weights, rung.memory_.place(schedule.kernels));
  }
  for (const Call& call : schedule.calls) {
    Result<Task> task = rung.prepare(call, design, weights, device, poison);
    if (!task) return task.error().within(call_name(call));
    rung.tasks_.push_back(std::move(*task));
  }
  rung.lay_histories(schedule);
  rung.input_ = rung.written_part(schedule.tensors.front());
  rung.output_ = rung.memory_.view(schedule.tensors[index(schedule.output)]);
  ensure(rung.input_.format == Format{} && rung.output_.format == Format{}, "a pass begins and ends planar");
  return rung;
}

TensorView PreparedRung::written_part(const ScheduledTensor& tensor) const {
  return view_within(memory_.view(tensor), tensor.around);
}

void PreparedRung::lay_histories(const Schedule& schedule) {
  for (const ScheduledHistory& history : schedule.histories) {
    const ScheduledTensor& tensor = schedule.tensors[index(history.tensor)];
    auto* const kept = reinterpret_cast<float*>(memory_.place(history.buffer));
    const int number = static_cast<int>(histories_.size());
    histories_.emplace_back(memory_.view(tensor), tensor.around.begin.z, history.runs, kept);
    if (history.tensor == 0) input_history_ = number;
    for (std::size_t call = 0; call < tasks_.size(); ++call) {
      if (schedule.calls[call].output != history.tensor) continue;
      (tasks_[call].writes_slab ? head_history_ : tasks_[call].history) = number;
    }
  }
}

Result<PreparedRung::Task> PreparedRung::prepare(const Call& call, const RungDesign& design,
                                                 const NetworkWeights& weights, Device& device, bool poison) const {
  const Step& step = design.steps[index(call.step)];
  Task task;
  task.name = call_name(call);
  task.arena = std::make_unique<Arena>(memory_.placements(call), poison);
  task.declared_peak = peak(call.estimate.memory);
  task.node = step.node;
  task.predicted = call.is_reorder && step.node >= 0 ? 0 : step.seconds;
  set_views(call, design.schedule, task);
  set_outside(call, design, task);
  const LayerWeights own = weights_of(call, step.node, weights, kernels_);
  Result<std::unique_ptr<PreparedLayer>> layer =
      call.primitive->prepare(call.problem, call.estimate, own, *task.arena, device);
  if (!layer) return layer.error();
  task.layer = std::move(*layer);
  return task;
}

void PreparedRung::set_views(const Call& call, const Schedule& schedule, Task& task) const {
  task.held = call.held;
  task.reads_slab = call.reads_slab;
  task.writes_slab = call.writes_slab;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    task.inputs.push_back(view_within(memory_.view(schedule.tensors[index(call.inputs[i])]), call.around[i]));
  }
  task.whole_input = task.inputs.front();
  const ScheduledTensor& written = schedule.tensors[index(call.output)];
  task.output = written_part(written);
  task.whole_output = task.output;
  const std::int64_t history = geometry_.choice.streamed ? written.around.begin.z : 0;
  task.with_margins = view_from(memory_.view(written), {history, 0, 0});
}

// Of the last call of a step alone, and where it computes two nodes, of the latter.
void PreparedRung::set_outside(const Call& call, const RungDesign& design, Task& task) {
  const bool pair = begins_pair(design.steps, index(call.step));
  const Step& last = design.steps[index(call.step) + (pair ? 1 : 0)];
  if (task.node < 0 || !(call.is_reorder || last.reorder.empty())) return;
  const std::size_t node = index(last.node);
  task.outside = design.network.nodes[node].outside;
  task.outside_kind = design.network.nodes[node].outside_kind;
  task.reach = reaches(design.network)[node + 1];
  task.value = last.node + 1;
}

Result<void> PreparedRung::run_task(Task& task) const {
  task.arena->begin();
  Result<void> done = task.layer->run(task.inputs, task.output, *task.arena);
  if (!done) return done.error().within(task.name);
  return {};
}

// Sets what is outside, and keeps planes for the next step. A plane at the border and its copies may come in different
// steps: they are sought among all planes that the readers see, before the last of those are kept.
void PreparedRung::finish(const Task& task) {
  if (task.outside_kind != OutsideKind::edge || task.history < 0) {
    fill_outside_of(task, task.with_margins, 0);
    return roll(task.history);
  }
  History& history = histories_[static_cast<std::size_t>(task.history)];
  history.put(*executor_);
  fill_outside_of(task, history.tensor(), history.planes());
  history.keep(*executor_);
}

void PreparedRung::place(std::span<const Vec3> starts, Vec3 volume) {
  starts_.assign(starts.begin(), starts.end());
  volume_ = volume;
}

// `view`: what the task wrote, with `before` planes of earlier steps.
void PreparedRung::fill_outside_of(const Task& task, const TensorView& view, std::int64_t before) const {
  if (task.outside == Border{} || starts_.empty()) return;
  // The newest planes of a step end where the input's do, less what the node's windows reach ahead.
  const auto& [fov, stride] = task.reach;
  const Vec3 lag{geometry_.choice.streamed ? fov.z - stride.z : 0, 0, 0};
  const Vec3 closed_start = start_of_closed(geometry_.closed, task.value);
  const Vec3 unread = start_of_closed(geometry_.closed, 0);
  std::vector<Vec3> starts;
  for (const Vec3& start : starts_) {
    const Vec3 first = start - lag - unread;
    ensure(first % stride == Vec3{}, "patches begin where the strides of all values do");
    starts.push_back(first / stride + closed_start - Vec3{before, 0, 0});
  }
  const Vec3 whole = (volume_ - fov) / stride + Vec3::cube(1);
  if (task.outside_kind == OutsideKind::edge) {
    fill_edges(view, starts, task.outside, whole, before, *executor_);
    return;
  }
  const bool lowest = task.outside_kind == OutsideKind::lowest;
  const float fill = lowest ? -std::numeric_limits<float>::infinity() : 0.0F;
  fill_outside(view, starts, task.outside, whole, fill, *executor_);
}

Result<void> PreparedRung::run_nodes(int first, int last, const std::stop_token& stop, const CallObserver& observer) {
  using Clock = std::chrono::steady_clock;
  for (Task& task : tasks_) {
    if (task.node < first || task.node > last || is_idle(task.node)) continue;
    if (stop.stop_requested()) return job_cancelled();
    const Clock::time_point start = observer ? Clock::now() : Clock::time_point();
    if (Result<void> done = run_task(task); !done) return done;
    finish(task);
    if (!observer) continue;
    observer({task.node, seconds_since(start), task.predicted});
  }
  return {};
}

void PreparedRung::aim_at_slab(std::int64_t begin) {
  const Head& head = geometry_.head;
  for (Task& task : tasks_) {
    if (task.reads_slab) {
      // One image: the planes of a slab follow each other.
      float* const from = task.whole_input.data + begin * head.step * task.whole_input.strides.z;
      task.inputs[0] = dense_view(from, head.input, task.whole_input.format);
    }
    if (task.writes_slab) {
      task.output = view_from(task.whole_output, {begin, 0, 0});
      task.output.shape.n.z = geometry_.choice.head_slab;
    }
  }
}

void PreparedRung::roll(int history) {
  if (history >= 0) histories_[static_cast<std::size_t>(history)].roll(*executor_);
}

bool PreparedRung::is_idle(int node) const {
  return node >= 0 && planes_ <= geometry_.histories.idle[static_cast<std::size_t>(node)];
}

void PreparedRung::forget(bool whole) {
  planes_ = whole ? saturated : 0;
  for (const History& history : histories_) history.forget(*executor_);
}

Result<void> PreparedRung::run_head(const std::stop_token& stop, const CallObserver& observer) {
  if (is_idle(geometry_.head.last)) return {};
  for (const std::int64_t begin : geometry_.head.begins) {
    aim_at_slab(begin);
    if (Result<void> ran = run_nodes(0, geometry_.head.last, stop, observer); !ran) return ran;
  }
  roll(head_history_);
  return {};
}

Result<void> PreparedRung::run_pass(std::size_t pass, const std::stop_token& stop, const CallObserver& observer) {
  const Pass& now = geometry_.passes[pass];
  if (pass % pass_count(geometry_) == 0) {
    planes_ = add(planes_, geometry_.choice.pass_input.z);
    for (History& history : histories_) history.rewind();
  }
  for (Task& task : tasks_) {
    if (task.held >= 0) {
      task.inputs[0] = view_from(task.whole_input, now.begins[static_cast<std::size_t>(task.held)]);
    }
  }
  const int everything = std::numeric_limits<int>::max();
  if (now.first_node >= 0) return run_nodes(now.first_node, everything, stop, observer);
  roll(input_history_);
  if (Result<void> ran = run_head(stop, observer); !ran) return ran;
  return run_nodes(geometry_.head.last < 0 ? -1 : geometry_.head.last + 1, everything, stop, observer);
}

std::vector<PreparedRung::CallMemory> PreparedRung::call_memory() const {
  std::vector<CallMemory> memory;
  for (const Task& task : tasks_) memory.push_back({task.declared_peak, task.arena->high_water()});
  return memory;
}

}  // namespace znni
