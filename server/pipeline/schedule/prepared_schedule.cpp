#include "server/pipeline/schedule/prepared_schedule.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>
#include <variant>

#include "planner/plan/pairs.hpp"
#include "primitives/core/clock_time.hpp"
#include "primitives/core/index.hpp"
#include "primitives/core/volume_layer.hpp"
#include "primitives/hybrid/divided_layer.hpp"
#include "server/pipeline/job/job_cancelled.hpp"
#include "server/pipeline/schedule/swapped_kernels.hpp"

namespace znni {
namespace {

// Returns what is outside the value that a call writes: of the last call of a step alone, and where it computes two
// nodes, of the latter.
ValueOutside outside_of(const Call& call, const SegmentDesign& design) {
  const std::size_t first = index(call.step);
  const Step& last = design.steps[first + (begins_pair(design.steps, first) ? 1 : 0)];
  if (design.steps[first].node < 0 || !(call.is_reorder || last.reorder.empty())) return {};
  return {design.network, design.geometry, last.node};
}

bool reads(const Call& call, int tensor) {
  return std::find(call.inputs.begin(), call.inputs.end(), tensor) != call.inputs.end();
}

bool takes_volumes(const PreparedLayer& layer) { return dynamic_cast<const VolumeLayer*>(&layer) != nullptr; }

}  // namespace

PreparedSchedule::PreparedSchedule(SegmentDesign design, ScheduleMemory memory, const PlaceDevices& devices)
    : design_(std::move(design)),
      memory_(std::move(memory)),
      executor_(&devices.host_threads(design_.place)),
      gpu_(design_.place == Place::gpu ? devices.gpu : nullptr) {}

Result<PreparedSchedule> PreparedSchedule::open(SegmentDesign design, const NetworkWeights& weights,
                                                const PlaceDevices& devices, const Arena::Poison& poison) {
  const auto memory_device = [&](MemorySpace space) -> Device& { return devices.memory_device(design.place, space); };
  Result<ScheduleMemory> memory = ScheduleMemory::reserve(design.schedule, memory_device);
  if (!memory) return memory.error();
  return open_in(*std::move(memory), std::move(design), weights, devices, poison);
}

Result<PreparedSchedule> PreparedSchedule::open(RungDesign design, const NetworkWeights& weights, std::byte* transient,
                                                const PlaceDevices& devices, const Arena::Poison& poison) {
  SegmentDesign& whole = design.whole;
  const auto memory_device = [&](MemorySpace space) -> Device& { return devices.memory_device(whole.place, space); };
  Result<ScheduleMemory> memory =
      ScheduleMemory::reserve_beside(whole.schedule, design.packing, transient, memory_device);
  if (!memory) return memory.error();
  Result<PreparedSchedule> rung = open_in(*std::move(memory), std::move(whole), weights, devices, poison);
  if (!rung) return rung;
  rung->aim(rung->own_input(), rung->own_output());
  const TensorView& input = rung->input_;
  const TensorView& output = rung->output_;
  ensure(input.data != nullptr && output.data != nullptr, "input and output of a rung lie in its memory");
  ensure(input.format == Format{} && output.format == Format{}, "a pass begins and ends planar");
  return rung;
}

Result<PreparedSchedule> PreparedSchedule::open_in(ScheduleMemory memory, SegmentDesign design,
                                                   const NetworkWeights& weights, const PlaceDevices& devices,
                                                   const Arena::Poison& poison) {
  PreparedSchedule prepared(std::move(design), std::move(memory), devices);
  const SegmentDesign& own = prepared.design_;
  Parts parts{std::span(weights).subspan(index(own.first_node), own.network.nodes.size()), {}, devices, poison};
  const int kernels = own.schedule.kernels;
  if (kernels >= 0) parts.kernels = swapped_kernels(own.geometry, parts.weights, prepared.memory_.place(kernels));
  for (const Call& call : own.schedule.calls) {
    Result<Task> task = prepared.prepare(call, parts);
    if (!task) return task.error();
    prepared.tasks_.push_back(std::move(*task));
  }
  prepared.lay_histories();
  prepared.reads_volumes_ = prepared.can_read_volumes();
  prepared.writes_volumes_ = prepared.can_write_volumes();
  return prepared;
}

Result<PreparedSchedule::Task> PreparedSchedule::prepare(const Call& call, const Parts& parts) const {
  const Step& step = step_of(call);
  Task task;
  task.name = name_of(call);
  task.arena = std::make_unique<Arena>(memory_.placements(call));
  if (parts.poison) task.arena->poison_with(parts.poison);
  task.inputs.resize(call.inputs.size());
  task.outside = outside_of(call, design_);
  if (!call.is_reorder) task.place = StackPlace(design_.network, design_.geometry, step.node);
  const LayerWeights own = weights_of(call, step.node, parts.weights, parts.kernels);
  const bool divided = !step.division.empty() && !call.is_reorder;
  Result<std::unique_ptr<PreparedLayer>> layer =
      divided ? hybrid::prepare_divided(std::get<ConvProblem>(call.problem),
                                        divided_choice(step, *call.primitive, call.reorder), own, *task.arena,
                                        *parts.devices.gpu, parts.poison)
              : call.primitive->prepare(call.problem, call.estimate, own, *task.arena,
                                        parts.devices.compute_device(design_.place, divided));
  if (!layer) return layer.error().within(task.name);
  task.layer = std::move(*layer);
  return task;
}

void PreparedSchedule::lay_histories() {
  for (const ScheduledHistory& history : design_.schedule.histories) {
    auto* const kept = reinterpret_cast<float*>(memory_.place(history.buffer));
    const int number = static_cast<int>(histories_.size());
    const ScheduledTensor& of = tensor(history.tensor);
    histories_.emplace_back(memory_.view(of), of.around.begin.z, history.runs, kept);
    if (history.tensor == 0) input_history_ = number;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      const Call& call = design_.schedule.calls[i];
      if (call.output == history.tensor) (call.writes_slab ? stem_history_ : tasks_[i].history) = number;
    }
  }
}

std::string PreparedSchedule::name_of(const Call& call) const {
  const int node = step_of(call).node;
  const std::string what = node < 0 ? "input" : "node " + design_.network.nodes[index(node)].name;
  return what + ": " + std::string(call.primitive->name);
}

const ScheduledTensor& PreparedSchedule::tensor(int number) const { return design_.schedule.tensors[index(number)]; }

TensorView PreparedSchedule::whole(int number) const {
  if (number == 0) return input_;
  return number == design_.schedule.output ? output_ : memory_.view(tensor(number));
}

TensorView PreparedSchedule::written_part(int number) const {
  return view_within(whole(number), tensor(number).around);
}

TensorView PreparedSchedule::read_part(const Call& call, std::size_t input) const {
  return view_within(whole(call.inputs[input]), call.around[input]);
}

// Sets all views: those of slabs and of held inputs are set again before each run.
void PreparedSchedule::aim(const TensorView& input, const TensorView& output) {
  input_ = input;
  output_ = output;
  if (input_history_ >= 0) histories_[index(input_history_)].move_to(input.data);
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    const Call& call = design_.schedule.calls[i];
    for (std::size_t j = 0; j < call.inputs.size(); ++j) tasks_[i].inputs[j] = read_part(call, j);
    tasks_[i].output = written_part(call.output);
  }
}

bool PreparedSchedule::can_read_volumes() const {
  if (gpu_ != nullptr || input_history_ >= 0 || geometry().stem.last >= 0 || tensor(0).around != Border{}) return false;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    if (reads(design_.schedule.calls[i], 0) && !takes_volumes(*tasks_[i].layer)) return false;
  }
  return true;
}

bool PreparedSchedule::can_write_volumes() const {
  const int output = design_.schedule.output;
  if (gpu_ != nullptr || geometry().choice.streamed || tensor(output).around != Border{}) return false;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    const Call& call = design_.schedule.calls[i];
    if (reads(call, output)) return false;
    if (call.output == output && (call.writes_slab || !takes_volumes(*tasks_[i].layer))) return false;
  }
  return true;
}

void PreparedSchedule::redirect(const TensorView* input, const TensorView* output) {
  if (input == nullptr && output == nullptr && !is_redirected_) return;
  is_redirected_ = input != nullptr || output != nullptr;
  aim(input == nullptr ? own_input() : *input, output == nullptr ? own_output() : *output);
  ensure(input_.shape == tensor(0).shape && output_.shape == tensor(design_.schedule.output).shape,
         "volumes hold what a pass reads and writes");
}

void PreparedSchedule::aim_at_held(const Pass& pass) {
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    const Call& call = design_.schedule.calls[i];
    if (call.held >= 0) tasks_[i].inputs[0] = view_from(read_part(call, 0), pass.begins[index(call.held)]);
  }
}

void PreparedSchedule::aim_at_slab(std::int64_t begin) {
  const Stem& stem = geometry().stem;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    const Call& call = design_.schedule.calls[i];
    if (call.reads_slab) {
      // One channel: the planes of a slab follow each other.
      const TensorView from = read_part(call, 0);
      tasks_[i].inputs[0] = dense_view(from.data + begin * stem.step * from.strides.z, stem.input, from.format);
    }
    if (call.writes_slab) {
      tasks_[i].output = view_from(written_part(call.output), {begin, 0, 0});
      tasks_[i].output.shape.n.z = geometry().choice.stem_slab;
    }
  }
}

void PreparedSchedule::place(std::span<const Vec3> starts, Vec3 volume) {
  positions_.starts.assign(starts.begin(), starts.end());
  positions_.volume = volume;
}

Result<void> PreparedSchedule::run_pass(std::size_t pass, const std::stop_token& stop, const CallObserver& observer) {
  const Pass& now = geometry().passes[pass];
  if (pass % pass_count(geometry()) == 0) {
    planes_ = add(planes_, geometry().choice.pass_input.z);
    for (History& history : histories_) history.begin(0);
  }
  aim_at_held(now);
  if (now.first_node < 0) return run_window(stop, observer);
  return run_nodes(now.first_node, std::numeric_limits<int>::max(), stop, observer);
}

Result<void> PreparedSchedule::run_micro_batch(float* input, const TensorView& output, std::int64_t number,
                                               const std::stop_token& stop) {
  aim(dense_view(input, tensor(0).shape, tensor(0).format), output);
  planes_ = saturated;  // all nodes run: idle ones are counted by passes alone
  for (History& history : histories_) history.begin(number);
  return run_window(stop, {});
}

Result<void> PreparedSchedule::run_window(const std::stop_token& stop, const CallObserver& observer) {
  if (Result<void> rolled = roll(input_history_); !rolled) return rolled;
  const int stem = geometry().stem.last;
  if (Result<void> ran = stem < 0 ? Result<void>() : run_stem(stop, observer); !ran) return ran;
  return run_nodes(stem < 0 ? -1 : stem + 1, std::numeric_limits<int>::max(), stop, observer);
}

Result<void> PreparedSchedule::run_stem(const std::stop_token& stop, const CallObserver& observer) {
  const Stem& stem = geometry().stem;
  if (is_idle(stem.last)) return {};
  for (const std::int64_t begin : stem.begins) {
    aim_at_slab(begin);
    if (Result<void> ran = run_nodes(0, stem.last, stop, observer); !ran) return ran;
  }
  return roll(stem_history_);
}

Result<void> PreparedSchedule::run_nodes(int first, int last, const std::stop_token& stop,
                                         const CallObserver& observer) {
  using Clock = std::chrono::steady_clock;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    const Call& call = design_.schedule.calls[i];
    const Step& step = step_of(call);
    if (step.node < first || step.node > last || is_idle(step.node)) continue;
    if (stop.stop_requested()) return job_cancelled();
    const Clock::time_point start = observer ? Clock::now() : Clock::time_point();
    if (Result<void> done = run_task(call, tasks_[i]); !done) return done;
    if (!observer) continue;
    observer({step.node, seconds_since(start), call.is_reorder && step.node >= 0 ? 0 : step.seconds});
  }
  return {};
}

Result<void> PreparedSchedule::run_task(const Call& call, Task& task) {
  task.arena->begin();
  task.place.tell(positions_, *task.layer);
  const Result<void> done = task.layer->run(task.inputs, task.output, *task.arena);
  return done ? finish(call, task) : done.error().within(task.name);
}

// Sets what is outside, and keeps planes for the next step. A plane at the border and its copies may come in different
// steps: they are sought among all planes that the readers see, before the last of those are kept.
Result<void> PreparedSchedule::finish(const Call& call, const Task& task) {
  if (task.outside.is_copied() && task.history >= 0) {
    ensure(gpu_ == nullptr, "padding that is copied is not streamed on a GPU");
    History& history = histories_[index(task.history)];
    history.put(*executor_);
    task.outside.fill(history.tensor(), history.planes(), positions_, *executor_);
    history.keep(*executor_);
    return {};
  }
  // With the margins around, without the planes of earlier steps.
  const std::int64_t earlier = geometry().choice.streamed ? tensor(call.output).around.begin.z : 0;
  if (!task.outside.is_empty()) {
    const TensorView view = view_from(whole(call.output), {earlier, 0, 0});
    if (Result<void> set = fill_outside(task.outside, view); !set) return set;
  }
  return roll(task.history);
}

Result<void> PreparedSchedule::fill_outside(const ValueOutside& outside, const TensorView& view) const {
  if (gpu_ != nullptr) return outside.fill(view, 0, positions_, *gpu_);
  outside.fill(view, 0, positions_, *executor_);
  return {};
}

Result<void> PreparedSchedule::roll(int history) {
  if (history < 0) return {};
  History& of = histories_[index(history)];
  if (gpu_ != nullptr) return of.roll(*gpu_);
  of.roll(*executor_);
  return {};
}

bool PreparedSchedule::is_idle(int node) const {
  return node >= 0 && planes_ <= geometry().histories.idle[index(node)];
}

Result<void> PreparedSchedule::forget(bool whole) {
  planes_ = whole ? saturated : 0;
  for (const History& history : histories_) {
    if (gpu_ == nullptr) {
      history.forget(*executor_);
    } else if (Result<void> done = history.forget(*gpu_); !done) {
      return done;
    }
  }
  return {};
}

std::vector<PreparedSchedule::CallMemory> PreparedSchedule::call_memory() const {
  std::vector<CallMemory> memory;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    memory.push_back({peak(design_.schedule.calls[i].estimate.memory), tasks_[i].arena->high_water()});
  }
  return memory;
}

}  // namespace znni
