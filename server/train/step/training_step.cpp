#include "server/train/step/training_step.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "primitives/core/index.hpp"
#include "primitives/core/refusals.hpp"
#include "server/train/step/fragments.hpp"
#include "server/train/step/pads.hpp"

namespace znni {
namespace {

std::string call_name(const StepPlan& plan, const StepCall& call) {
  const std::string node = call.node < 0 ? "loss" : "node " + plan.names[index(call.node)];
  if (call.layer == nullptr && call.gradient == nullptr) return node;
  return node + ": " + std::string(call.layer != nullptr ? call.layer->name : call.gradient->name);
}

Result<void> check_fit(const Network& network, const StepPlan& plan, const NetworkWeights& weights,
                       const DeviceSpec& device) {
  if (plan.nodes != describe(network))
    return invalid_argument("the step was planned for another network than " + network.name);
  if (device.kind != DeviceKind::cpu || device.simd_floats != plan.device.simd_floats ||
      device.threads > plan.device.threads) {
    return invalid_argument("the step was planned for " + plan.device.name + ", not for " + device.name);
  }
  return check_weights(network, weights);
}

void resize_like(const NetworkWeights& weights, NetworkWeights& gradients) {
  gradients.resize(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    gradients[i].kernels.resize(weights[i].kernels.size());
    gradients[i].bias.resize(weights[i].bias.size());
    gradients[i].scale.resize(weights[i].scale.size());
    gradients[i].shift.resize(weights[i].shift.size());
  }
}

std::span<float> elements_of(const TensorView& view) {
  return {view.data, static_cast<std::size_t>(elements(view.shape))};
}

}  // namespace

Result<std::unique_ptr<TrainingStep>> TrainingStep::prepare(const Network& network, const StepPlan& plan,
                                                            const NetworkWeights& weights, Device& device,
                                                            bool poison) {
  if (Result<void> fits = check_fit(network, plan, weights, device.spec()); !fits) return fits.error();
  Result<Reservation> memory = device.reserve(MemorySpace::host, plan.packing.bytes, "a step of training");
  if (!memory) return memory.error();
  std::unique_ptr<TrainingStep> step(new TrainingStep(plan, weights, device, *std::move(memory), poison));
  step->ties_ = transposed_ties(network, weights);
  for (const StepCall& call : step->plan_.calls) {
    Task task;
    task.keeps = persistent_bytes(call.estimate.memory) > 0;
    task.arena = std::make_unique<Arena>(step->placements(call), poison);
    if (Result<void> done = task.keeps ? Result<void>() : step->prepare(call, task); !done) return done.error();
    step->tasks_.push_back(std::move(task));
  }
  return step;
}

std::byte* TrainingStep::place(int buffer) const {
  return buffer < 0 ? nullptr : memory_.data() + plan_.packing.offsets[index(buffer)];
}

TensorView TrainingStep::view(int tensor) const {
  const PlacedTensor& own = plan_.tensors[index(tensor)];
  return dense_view(reinterpret_cast<float*>(place(own.buffer)), own.shape, own.format);
}

std::vector<Placement> TrainingStep::placements(const StepCall& call) const {
  std::vector<Placement> placements;
  for (std::size_t i = 0; i < call.buffers.size(); ++i) {
    placements.push_back({call.estimate.memory[i], place(call.buffers[i])});
  }
  return placements;
}

Result<void> TrainingStep::prepare(const StepCall& call, Task& task) {
  const LayerWeights own = call.node < 0 ? LayerWeights() : weights_[index(call.node)].view();
  if (call.layer != nullptr) {
    const auto& problem = std::get<LayerProblem>(call.problem);
    Result<std::unique_ptr<PreparedLayer>> layer =
        call.layer->prepare(problem, call.estimate, own, *task.arena, device_);
    if (!layer) return layer.error().within(call_name(plan_, call));
    task.layer = std::move(*layer);
  }
  if (call.gradient != nullptr) {
    const auto& problem = std::get<GradientProblem>(call.problem);
    Result<std::unique_ptr<PreparedGradient>> gradient =
        call.gradient->prepare(problem, call.estimate, own, *task.arena, device_);
    if (!gradient) return gradient.error().within(call_name(plan_, call));
    task.gradient = std::move(*gradient);
  }
  return {};
}

Result<double> TrainingStep::run(std::span<const float> input, const LossOfOutput& loss, NetworkWeights& gradients) {
  const std::int64_t count = elements(input_shape());
  if (static_cast<std::int64_t>(input.size()) != count) {
    return invalid_argument("the step reads " + std::to_string(count) + " elements of " + to_string(input_shape()) +
                            "; it was given " + std::to_string(input.size()));
  }
  resize_like(weights_, gradients);
  write_input(input);
  double value = 0;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    const StepCall& call = plan_.calls[i];
    if (call.node < 0) {
      value = run_loss(call, tasks_[i], loss);
    } else if (Result<void> done = run_call(call, tasks_[i], gradients); !done) {
      return done.error().within(call_name(plan_, call));
    }
  }
  return value;
}

// Writes the patch and the zeros around it.
void TrainingStep::write_input(std::span<const float> input) {
  const TensorView to = view(0);
  std::size_t at = 0;
  std::fill_n(to.data, elements(to.shape), 0.0F);
  const Shape5& shape = plan_.input;
  for (std::int64_t row = 0; row < shape.f * shape.n.z * shape.n.y; ++row, at += static_cast<std::size_t>(shape.n.x)) {
    const Vec3 start{row / shape.n.y % shape.n.z, row % shape.n.y, 0};
    float* const from = &to.at(0, row / shape.n.y / shape.n.z, plan_.input_begin + start);
    std::copy_n(input.data() + at, shape.n.x, from);
  }
}

void TrainingStep::run_pad(const StepCall& call) {
  const auto& pad = std::get<PadProblem>(call.problem);
  const auto write = pad.is_gradient ? write_pad_gradient : write_padded;
  write(pad, view(call.reads.front()), view(call.writes), device_.executor());
}

Result<void> TrainingStep::run_call(const StepCall& call, Task& task, NetworkWeights& gradients) {
  task.arena->begin();
  if (task.keeps) {
    if (Result<void> done = prepare(call, task); !done) return done;
  }
  if (task.gradient != nullptr) return run_gradient(call, task, gradients);
  if (task.layer == nullptr) {
    run_pad(call);
    return {};
  }
  std::vector<TensorView> inputs;
  for (const int tensor : call.reads) inputs.push_back(view(tensor));
  return task.layer->run(inputs, view(call.writes), *task.arena);
}

Result<void> TrainingStep::run_gradient(const StepCall& call, Task& task, NetworkWeights& gradients) {
  GradientViews views;
  views.output = view(call.reads.front());
  if (call.reads.size() > 1) views.saved = view(call.reads[1]);
  if (call.reads.size() > 2) views.result = view(call.reads[2]);
  const auto& problem = std::get<GradientProblem>(call.problem);
  const bool of_weights = problem.of != GradientOf::input;
  if (call.writes >= 0) views.gradient = view(call.writes);
  if (of_weights) {
    NodeWeights& own = gradients[index(call.node)];
    std::vector<float>& weights = own.kernels.empty() ? own.scale : own.kernels;
    const TensorView written = dense_view(weights.data(), weights_shape(problem.layer));
    (problem.of == GradientOf::both ? views.weights : views.gradient) = written;
    views.bias = own.kernels.empty() ? own.shift : own.bias;
  }
  Result<void> done = task.gradient->run(views, *task.arena);
  const bool is_tied = of_weights && ties_[index(call.node)].phases > 1;
  if (done && is_tied) tie_transposed(ties_[index(call.node)], gradients[index(call.node)]);
  return done;
}

double TrainingStep::run_loss(const StepCall& call, Task& task, const LossOfOutput& loss) {
  const TensorView output = view(call.reads.front());
  const TensorView gradient = view(call.writes);
  task.arena->begin();
  if (output.shape.S == 1) return loss(elements_of(output), elements_of(gradient));
  const std::span<float> dense = task.arena->grant_as<float>(dense_output_name);
  put_together(plan_.geometry, output, dense, device_.executor());
  task.arena->stage(1);
  const std::span<float> dense_gradient = task.arena->grant_as<float>(dense_gradient_name);
  const double value = loss(dense, dense_gradient);
  task.arena->stage(2);
  take_apart(plan_.geometry, dense_gradient, gradient, device_.executor());
  return value;
}

std::vector<TrainingStep::CallMemory> TrainingStep::call_memory() const {
  std::vector<CallMemory> memory;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    memory.push_back({peak(plan_.calls[i].estimate.memory), tasks_[i].arena->high_water()});
  }
  return memory;
}

}  // namespace znni
