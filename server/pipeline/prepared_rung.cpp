#include "server/pipeline/prepared_rung.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

#include "planner/network/exchange.hpp"
#include "planner/plan/pairs.hpp"
#include "primitives/core/clock_time.hpp"
#include "server/pipeline/exchanged_kernels.hpp"
#include "server/pipeline/outside.hpp"

namespace znni {
namespace {

TensorView tensor_at(const ScheduledTensor& tensor, const Packing& packing, std::byte* transient) {
  const std::int64_t offset = packing.offsets[static_cast<std::size_t>(tensor.buffer)];
  ensure(offset >= 0, "tensors of a schedule are transient");
  return dense_view(reinterpret_cast<float*>(transient + offset), tensor.shape, tensor.format);
}

// Returns the part of a tensor that a step writes: behind the planes of earlier steps, between the margins.
TensorView written_part(const ScheduledTensor& tensor, const Packing& packing, std::byte* transient) {
  return view_within(tensor_at(tensor, packing, transient), tensor.around);
}

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
  PreparedRung rung(design, device.executor());
  if (Result<void> reserved = rung.reserve_persistent(design.schedule, device); !reserved) return reserved.error();
  if (const int kernels = design.schedule.kernels; kernels >= 0) {
    auto* const to = rung.persistent_[static_cast<std::size_t>(kernels)].data();
    rung.kernels_ = exchanged_kernels(rung.geometry_, weights, to);
  }
  for (const Call& call : design.schedule.calls) {
    Result<Task> task = rung.prepare(call, design, weights, transient, device, poison);
    if (!task) return task.error().within(call_name(call));
    rung.tasks_.push_back(std::move(*task));
  }
  rung.lay_histories(design, transient);
  const Schedule& schedule = design.schedule;
  rung.input_ = written_part(schedule.tensors.front(), design.packing, transient);
  rung.output_ = tensor_at(schedule.tensors[static_cast<std::size_t>(schedule.output)], design.packing, transient);
  ensure(rung.input_.format == Format{} && rung.output_.format == Format{}, "a pass begins and ends planar");
  return rung;
}

void PreparedRung::lay_histories(const RungDesign& design, std::byte* transient) {
  for (const ScheduledHistory& history : design.schedule.histories) {
    const ScheduledTensor& tensor = design.schedule.tensors[static_cast<std::size_t>(history.tensor)];
    const std::int64_t offset = design.packing.offsets[static_cast<std::size_t>(history.buffer)];
    auto* const kept = reinterpret_cast<float*>(transient + offset);
    const int number = static_cast<int>(histories_.size());
    histories_.emplace_back(tensor_at(tensor, design.packing, transient), tensor.around.begin.z, history.runs, kept);
    if (history.tensor == 0) input_history_ = number;
    for (std::size_t call = 0; call < tasks_.size(); ++call) {
      if (design.schedule.calls[call].output != history.tensor) continue;
      (tasks_[call].writes_slab ? head_history_ : tasks_[call].history) = number;
    }
  }
}

Result<void> PreparedRung::reserve_persistent(const Schedule& schedule, Device& device) {
  for (const Buffer& buffer : schedule.memory) {
    const std::int64_t bytes = buffer.lifetime.persistent ? buffer.bytes : 0;
    Result<Reservation> block = device.reserve(buffer.space, bytes, buffer.name);
    if (!block) return block.error();
    persistent_.push_back(std::move(*block));
  }
  return {};
}

// Reorders have no parameters; the others take those of their node, which their step names.
LayerWeights PreparedRung::weights_of(const Call& call, int node, const NetworkWeights& weights) const {
  if (call.is_reorder || node < 0) return {};
  const auto index = static_cast<std::size_t>(node);
  LayerWeights own = weights[index].view();
  if (!kernels_.empty()) own.kernels = kernels_[index];
  return own;
}

Result<PreparedRung::Task> PreparedRung::prepare(const Call& call, const RungDesign& design,
                                                 const NetworkWeights& weights, std::byte* transient, Device& device,
                                                 bool poison) const {
  std::vector<Placement> placements;
  for (std::size_t i = 0; i < call.buffers.size(); ++i) {
    const auto index = static_cast<std::size_t>(call.buffers[i]);
    const Buffer& declared = call.estimate.memory[i];
    const bool persistent = declared.lifetime.persistent;
    placements.push_back(
        {declared, persistent ? persistent_[index].data() : transient + design.packing.offsets[index]});
  }
  Task task;
  task.name = call_name(call);
  task.arena = std::make_unique<Arena>(std::move(placements), poison);
  task.declared_peak = peak(call.estimate.memory);
  const Step& step = design.steps[static_cast<std::size_t>(call.step)];
  task.node = step.node;
  task.predicted = call.is_reorder && step.node >= 0 ? 0 : step.seconds;
  task.held = call.held;
  task.reads_slab = call.reads_slab;
  task.writes_slab = call.writes_slab;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const ScheduledTensor& read = design.schedule.tensors[static_cast<std::size_t>(call.inputs[i])];
    task.inputs.push_back(view_within(tensor_at(read, design.packing, transient), call.around[i]));
  }
  task.whole_input = task.inputs.front();
  const ScheduledTensor& written = design.schedule.tensors[static_cast<std::size_t>(call.output)];
  task.output = written_part(written, design.packing, transient);
  task.whole_output = task.output;
  const std::int64_t history = geometry_.choice.streamed ? written.around.begin.z : 0;
  task.with_margins = view_from(tensor_at(written, design.packing, transient), {history, 0, 0});
  const bool pair = begins_pair(design.steps, static_cast<std::size_t>(call.step));
  const Step& last = design.steps[static_cast<std::size_t>(call.step) + (pair ? 1 : 0)];
  if (step.node >= 0 && (call.is_reorder || last.reorder.empty())) {
    const auto node = static_cast<std::size_t>(last.node);
    task.outside = design.network.nodes[node].outside;
    task.outside_kind = design.network.nodes[node].outside_kind;
    task.reach = reaches(design.network)[node + 1];
    task.value = static_cast<int>(node) + 1;
  }
  Result<std::unique_ptr<PreparedLayer>> layer =
      call.primitive->prepare(call.problem, call.estimate, weights_of(call, step.node, weights), *task.arena, device);
  if (!layer) return layer.error();
  task.layer = std::move(*layer);
  return task;
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
    if (stop.stop_requested()) return Error{ErrorCode::cancelled, "the job was cancelled"};
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

std::int64_t PreparedRung::persistent_bytes() const {
  std::int64_t sum = 0;
  for (const Reservation& block : persistent_) sum = add(sum, block.bytes());
  return sum;
}

}  // namespace znni
