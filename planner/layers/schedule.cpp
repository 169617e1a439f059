#include "planner/layers/schedule.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "planner/costs/catalogue.hpp"
#include "planner/network/swap_axes.hpp"
#include "planner/plan/pairs.hpp"
#include "primitives/core/index.hpp"
#include "primitives/core/refusals.hpp"

namespace znni {
namespace {

Error broken(std::string message) { return {ErrorCode::internal, std::move(message)}; }

// The work of one call, before its buffers have places.
struct Work {
  int step = 0;
  std::string name;         // prefix of its buffers
  std::string output_name;  // of its output's buffer
  std::string primitive;
  LayerProblem problem;
  Variant variant;
  Format in;
  Format out;
  std::vector<int> inputs;  // tensors
  // In a stem that runs in slabs: reads or writes a slab of a tensor that is larger.
  bool reads_slab = false;
  std::optional<Shape5> slab_of;
  std::optional<Estimate> divided;  // of a step that is
  std::string reorder;              // of its sub-layers
  std::vector<Border> around_read;  // per input: voxels of the tensor around those that it reads
  Border around;                    // voxels of the tensor around those that it writes
};

// Appends calls one after the other in time. A tensor's buffer is lengthened by each call that reads it.
class Builder {
 public:
  Builder(const Catalogue& catalogue, const DeviceSpec& spec) : catalogue_(catalogue), spec_(spec) {}

  // Adds a history. Histories come before all else, so that what changes beside them is packed as if they were not
  // there.
  int add_history(const std::string& name, std::int64_t bytes) {
    const MemorySpace space = spec_.kind == DeviceKind::gpu ? MemorySpace::device : MemorySpace::host;
    return add_buffer({name + "/history", space, bytes, Lifetime::stages(0, 0)});
  }

  // Copies of the network's, for as long as the plan.
  void add_kernels(std::int64_t bytes) {
    schedule_.kernels = add_buffer({"swapped kernels", MemorySpace::host, bytes, Lifetime::plan()});
  }

  void keep_history(int tensor, int buffer, std::int64_t runs) {
    schedule_.histories.push_back({tensor, buffer, runs});
  }

  // Adds an input of `shape`, with what is `around` the voxels of a step.
  int add_input(const std::string& name, const Shape5& shape, const Border& around) {
    const int buffer = add_buffer({name, MemorySpace::host, tensor_bytes(shape, Format{}), Lifetime::stages(0, 0)});
    schedule_.tensors.push_back({shape, Format{}, buffer, around});
    return 0;
  }

  // Adds a call, and returns the tensor that it writes.
  Result<int> add_call(const Work& work) {
    Result<Estimate> estimate =
        work.divided ? *work.divided
                     : catalogue_.find_estimate(work.primitive, work.problem, spec_, work.variant, work.in, work.out);
    if (!estimate) return estimate.error();
    Call call{work.step,
              std::holds_alternative<ReorderProblem>(work.problem),
              catalogue_.find(work.primitive),
              work.problem,
              *std::move(estimate),
              work.inputs,
              static_cast<int>(schedule_.tensors.size()),
              stages_,
              {},
              work.reads_slab,
              work.slab_of.has_value(),
              -1,
              work.around_read,
              catalogue_.find(work.reorder)};
    if (Result<void> placed = place_buffers(work, call); !placed) return placed.error().within(work.primitive);
    stages_ += stage_count(call.estimate.memory);
    schedule_.calls.push_back(std::move(call));
    return schedule_.calls.back().output;
  }

  // Ends the stem: all its slabs have been made, and its input was needed until here.
  void end_stem() { lengthen(0, stages_ - 1); }

  // Lets the last call read input `number` of Geometry::held.
  void hold(int number) { schedule_.calls.back().held = number; }

  // Finishes the schedule. The output is read after the last call, and what is held in later passes, so both live to
  // the end.
  Schedule finish(int output) && {
    schedule_.output = output;
    lengthen(output, stages_ - 1);
    for (const Call& call : schedule_.calls) {
      if (call.held >= 0) lengthen(call.inputs.front(), stages_ - 1);
    }
    for (const ScheduledHistory& history : schedule_.histories) {
      schedule_.memory[index(history.buffer)].lifetime.last = stages_ - 1;
    }
    return std::move(schedule_);
  }

  [[nodiscard]] DeviceKind kind() const { return spec_.kind; }
  [[nodiscard]] const ScheduledTensor& tensor(int number) const { return schedule_.tensors[index(number)]; }

 private:
  int add_buffer(Buffer buffer) {
    while (!names_.insert(buffer.name).second) buffer.name += "'";
    schedule_.memory.push_back(std::move(buffer));
    return static_cast<int>(schedule_.memory.size()) - 1;
  }

  void lengthen(int tensor, int stage) {
    Lifetime& lifetime = schedule_.memory[index(schedule_.tensors[index(tensor)].buffer)].lifetime;
    lifetime.last = std::max(lifetime.last, stage);
  }

  Result<void> place_buffers(const Work& work, Call& call) {
    for (const Buffer& own : shifted(call.estimate.memory, stages_)) {
      Result<int> buffer = own.name == output_name ? place_output(work, own) : place_other(work, own);
      if (!buffer) return buffer.error();
      call.buffers.push_back(*buffer);
    }
    const int wanted = static_cast<int>(work.inputs.size()) + 1;
    const auto tensors = std::count_if(call.estimate.memory.begin(), call.estimate.memory.end(),
                                       [&](const Buffer& own) { return is_tensor(work, own.name); });
    if (tensors == wanted) return {};
    return broken("declares " + std::to_string(tensors) + " inputs and outputs; it needs " + std::to_string(wanted));
  }

  static bool is_tensor(const Work& work, std::string_view name) {
    return name == output_name || input_number(work, name) >= 0;
  }

  // Returns the number of the call's input named `name`, or -1.
  static int input_number(const Work& work, std::string_view name) {
    for (int i = 0; i < static_cast<int>(work.inputs.size()); ++i) {
      if (name == input_name(i)) return i;
    }
    return -1;
  }

  static Result<void> check_bytes(const Buffer& declared, const Shape5& shape, Format format) {
    const std::int64_t bytes = tensor_bytes(shape, format);
    if (declared.bytes == bytes && !declared.lifetime.persistent) return {};
    return broken("declares " + std::to_string(declared.bytes) + " bytes for its " + declared.name + "; a tensor of " +
                  to_string(shape) + " in " + to_string(format) + " has " + std::to_string(bytes));
  }

  Result<int> place_output(const Work& work, Buffer own) {
    Shape5 shape = work.slab_of.value_or(output_shape(work.problem));
    if (Result<void> sound = check_bytes(own, output_shape(work.problem), work.out); !sound) return sound.error();
    shape.n = shape.n + work.around.begin + work.around.end;
    own.name = work.output_name;
    own.bytes = tensor_bytes(shape, work.out);
    if (work.slab_of) own.lifetime.first = 0;  // the first slab is there while the others are made
    const int buffer = add_buffer(std::move(own));
    schedule_.tensors.push_back({shape, work.out, buffer, work.around});
    return buffer;
  }

  Result<int> place_other(const Work& work, Buffer own) {
    const int input = input_number(work, own.name);
    if (input < 0) {
      own.name = work.name + "/" + own.name;
      return add_buffer(std::move(own));
    }
    const int read = work.inputs[index(input)];
    Shape5 shape = work.reads_slab ? input_shape(work.problem, input) : tensor(read).shape;
    const Border& around = work.around_read[index(input)];
    shape.n = shape.n - around.begin - around.end;
    if (Result<void> sound = check_bytes(own, shape, tensor(read).format); !sound) return sound.error();
    lengthen(read, own.lifetime.last);
    return tensor(read).buffer;
  }

  const Catalogue& catalogue_;
  const DeviceSpec& spec_;
  Schedule schedule_;
  std::set<std::string> names_;
  int stages_ = 0;
};

Work reorder_work(const Step& step, int number, const std::string& name, const ScheduledTensor& from, int tensor) {
  Work work;
  work.step = number;
  work.name = name + "/reorder";
  work.output_name = name + "/reordered";
  work.primitive = step.reorder;
  work.problem = ReorderProblem{from.shape, step.native, step.out};
  work.in = step.native;
  work.out = step.out;
  work.inputs = {tensor};
  work.around_read = {Border{}};
  return work;
}

// Returns the tensor that holds the step's value in the edge's format, given the one that the primitive wrote. It has
// what is `around` the value; what is reordered into it has nothing around it.
Result<int> add_reorder(Builder& builder, const Step& step, int number, const std::string& name, int tensor,
                        const Border& around) {
  if ((step.native == step.out) != step.reorder.empty()) {
    return invalid_argument("writes " + to_string(step.native) + ", the edge is " + to_string(step.out) +
                            ", and the reorder is " + (step.reorder.empty() ? "missing" : step.reorder));
  }
  if (step.reorder.empty()) return tensor;
  Work work = reorder_work(step, number, name, builder.tensor(tensor), tensor);
  work.around = around;
  return builder.add_call(work);
}

int held_number(const Geometry& geometry, int node) {
  const auto found = std::find(geometry.held.begin(), geometry.held.end(), node);
  return found == geometry.held.end() ? -1 : static_cast<int>(found - geometry.held.begin());
}

// Returns the tensor of a value. Fails if it is not in the format that the step reads.
Result<int> tensor_read(const Builder& builder, int tensor, int input, Format wanted) {
  const Format found = builder.tensor(tensor).format;
  if (found == wanted) return tensor;
  return invalid_argument("reads " + to_string(wanted) + ", but its " + input_name(input) + " is in " +
                          to_string(found));
}

// Adds one call for node `index_of_node` and the one behind it: there is no tensor between them.
Result<int> add_pair(Builder& builder, const Network& network, const Geometry& geometry, int index_of_node,
                     const std::vector<Step>& steps, int number, const std::vector<int>& values) {
  const Node& node = network.nodes[index(index_of_node)];
  const std::string& last = network.nodes[index(index_of_node) + 1].name;
  const Result<ConvPoolProblem> problem = pair_problem(network, geometry, index_of_node);
  if (!problem) return problem.error();
  const Result<Step> step = pair_as_one(steps[index(number)], steps[index(number) + 1]);
  if (!step) return step.error();
  const Result<int> input = tensor_read(builder, values[index(node.inputs.front())], 0, step->in);
  if (!input) return input.error();
  Work work;
  work.step = number;
  work.name = node.name;
  work.output_name = last + "/output";
  work.primitive = step->primitive;
  work.problem = *problem;
  work.variant = step->variant;
  work.in = step->in;
  work.out = step->native;
  work.inputs = {*input};
  work.around_read = {around_read(geometry, index_of_node, 0, node.inputs.front())};
  const Border around = around_written(geometry, index_of_node + 2);
  if (step->reorder.empty()) work.around = around;
  Result<int> written = builder.add_call(work);
  if (!written) return written.error();
  return add_reorder(builder, *step, number + 1, last, *written, around);
}

Result<int> add_node(Builder& builder, const Network& network, const Geometry& geometry, int index_of_node,
                     const Step& inside, int number, const std::vector<int>& values, const DividedEstimate& divided) {
  const Step step = around_sublayers(inside);
  const Node& node = network.nodes[index(index_of_node)];
  const LayerProblem problem = problem_on(builder.kind(), network, geometry, index_of_node, !step.reorder.empty());
  const int held = held_number(geometry, index_of_node);
  const Border around = around_written(geometry, index_of_node + 1);
  Work work;
  work.step = number;
  work.name = node.name;
  work.output_name = node.name + "/output";
  work.primitive = step.primitive;
  work.problem = problem;
  work.variant = step.variant;
  work.in = step.in;
  work.out = step.native;
  if (!step.division.empty()) {
    if (!divided) return Error{ErrorCode::unsupported, "is divided, which no primitive here runs"};
    Result<Estimate> estimate = divided(inside, problem);
    if (!estimate) return estimate.error();
    work.divided = *std::move(estimate);
    work.reorder = inside.reorder;
  }
  if (step.reorder.empty()) work.around = around;
  work.reads_slab = geometry.stem.last >= 0 && index_of_node == 0;
  if (index_of_node == geometry.stem.last) work.slab_of = geometry.values[index(index_of_node) + 1];
  for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i) {
    const int read = node.inputs[index(i)];
    const Result<int> tensor =
        tensor_read(builder, values[index(read)], i, input_format(problem, i, step.in, step.native));
    if (!tensor) return tensor.error();
    work.inputs.push_back(*tensor);
    work.around_read.push_back(around_read(geometry, index_of_node, i, read));
  }
  Result<int> written = builder.add_call(work);
  if (!written) return written.error();
  if (held >= 0) builder.hold(held);
  if (index_of_node == geometry.stem.last) builder.end_stem();
  return add_reorder(builder, step, number, node.name, *written, around);
}

// Adds histories, and returns for each value the buffer of its history; -1 if it has none. `first`: 1 if a step
// reorders the input.
std::vector<int> add_histories(Builder& builder, const Network& network, const Geometry& geometry,
                               const std::vector<Step>& steps, std::size_t first) {
  std::vector<int> buffers;
  for (int value = 0; value < static_cast<int>(geometry.values.size()); ++value) {
    const bool plain_input = value == 0 && first == 0;
    const Format format = plain_input ? Format{} : steps[index(value) + first - 1].out;
    const std::int64_t bytes = history_bytes(geometry, value, format);
    const std::string& name = value == 0 ? network.input_name : network.nodes[index(value) - 1].name;
    buffers.push_back(bytes == 0 ? -1 : builder.add_history(name, bytes));
  }
  return buffers;
}

Result<void> check_steps(const Network& network, const Geometry& geometry, const std::vector<Step>& steps,
                         std::size_t first) {
  const std::size_t nodes = network.nodes.size();
  ensure(geometry.problems.size() == nodes, "the geometry is of another network");
  if (steps.size() - first != nodes) {
    return invalid_argument(std::to_string(steps.size() - first) + " steps for " + std::to_string(nodes) + " nodes");
  }
  for (std::size_t i = 0; i < nodes; ++i) {
    const int found = steps[first + i].node;
    if (found == static_cast<int>(i)) continue;
    return invalid_argument("step " + std::to_string(first + i) + " is of node " + std::to_string(found) + "; node " +
                            std::to_string(i) + " comes next");
  }
  if (geometry.stem.last >= 0) {
    if (first == 1) return invalid_argument("the input is reordered, but read in slabs by the stem");
    const Step& last = steps[index(geometry.stem.last)];
    if (!last.reorder.empty()) return invalid_argument("the stem ends in slabs with a reorder, " + last.reorder);
  }
  if (steps.back().out == Format{}) return {};
  return invalid_argument("the output is left in " + to_string(steps.back().out) + "; it must be " +
                          to_string(Format{}));
}

}  // namespace

Result<Schedule> make_schedule(const Network& network, const Geometry& whole, const std::vector<Step>& steps,
                               const Catalogue& catalogue, const DeviceSpec& spec, const DividedEstimate& divided) {
  const std::size_t first = !steps.empty() && steps.front().node == -1 ? 1 : 0;
  if (Result<void> sound = check_steps(network, whole, steps, first); !sound) return sound.error();
  const Geometry geometry = with_pairs(network, whole, left_out_values(network, steps));
  Builder builder(catalogue, spec);
  const std::vector<int> histories = add_histories(builder, network, geometry, steps, first);
  const Border around = around_written(geometry, 0);
  const Shape5 planar = first == 1 ? geometry.values[0] : tensor_shape(geometry, 0);
  std::vector<int> values = {builder.add_input(network.input_name, planar, first == 1 ? Border{} : around)};
  if (first == 1) {
    Result<int> input = add_reorder(builder, steps[0], 0, network.input_name, values[0], around);
    if (!input) return input.error().within("step of the input");
    values[0] = *input;
  }
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    const bool pair = begins_pair(steps, first + i);
    const auto node = static_cast<int>(i);
    const auto number = static_cast<int>(first + i);
    Result<int> value = pair ? add_pair(builder, network, geometry, node, steps, number, values)
                             : add_node(builder, network, geometry, node, steps[first + i], number, values, divided);
    if (!value) return value.error().within("step of node " + network.nodes[i].name);
    if (pair) {
      values.push_back(-1);  // no step reads it
      ++i;
    }
    values.push_back(*value);
  }
  for (std::size_t value = 0; value < values.size(); ++value) {
    if (histories[value] < 0) continue;
    builder.keep_history(values[value], histories[value], history_runs(geometry, static_cast<int>(value)));
  }
  if (geometry.choice.axis != 0) builder.add_kernels(kernel_bytes(network));
  return std::move(builder).finish(values.back());
}

LayerProblem problem_on(DeviceKind kind, const Network& network, const Geometry& geometry, int node, bool reordered) {
  LayerProblem problem = geometry.problems[index(node)];
  auto* const conv = std::get_if<ConvProblem>(&problem);
  if (kind != DeviceKind::gpu || conv == nullptr) return problem;
  conv->before.in = around_read(geometry, node, 0, network.nodes[index(node)].inputs.front()).begin.z;
  conv->before.out = reordered ? 0 : geometry.histories.kept[index(node) + 1];
  return problem;
}

std::int64_t history_bytes(const Schedule& schedule) {
  std::int64_t sum = 0;
  for (const ScheduledHistory& history : schedule.histories) {
    sum = add(sum, schedule.memory[index(history.buffer)].bytes);
  }
  return sum;
}

}  // namespace znni
