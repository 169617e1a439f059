// One step of training as planned (planner/train/step_plan.hpp), ready to run: forward, the loss, backward. Every call
// has the memory that the plan declares for it.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "planner/network/network.hpp"
#include "planner/train/step_plan.hpp"
#include "primitives/core/arena.hpp"
#include "primitives/core/device.hpp"
#include "server/train/step/transposed.hpp"

namespace znni {

// Returns the loss of the network's output, and writes its derivative by each element of it. Both are dense:
// [channels][z][y][x] of TrainingStep::output_shape().
using LossOfOutput = std::function<double(std::span<const float> output, std::span<float> gradient)>;

class TrainingStep {
 public:
  // Reserves the memory of the plan from the device's budget. `weights` belong to the caller, are read again by each
  // run, and outlive the step, as the device does. The device may have fewer threads than the plan was made for: the
  // gradients are bit-equal. Fails if the plan is of another network or of another kind of device. `poison`: see Arena.
  [[nodiscard]] static Result<std::unique_ptr<TrainingStep>> prepare(const Network& network, const StepPlan& plan,
                                                                     const NetworkWeights& weights, Device& device,
                                                                     bool poison = false);

  // S = 1.
  [[nodiscard]] Shape5 input_shape() const { return plan_.input; }
  [[nodiscard]] Shape5 output_shape() const { return plan_.output; }

  // Runs forward from `input`, [channels][z][y][x], calls the loss, runs backward. Returns the loss. Writes the
  // gradients of all weights, in the layouts of the weights; resizes `gradients` for that.
  [[nodiscard]] Result<double> run(std::span<const float> input, const LossOfOutput& loss, NetworkWeights& gradients);

  // Transient bytes of one call: what its estimate declares, and the most that its arena has seen so far.
  struct CallMemory {
    std::int64_t declared_peak = 0;
    std::int64_t high_water = 0;
  };
  [[nodiscard]] std::vector<CallMemory> call_memory() const;

 private:
  // What runs a call of the plan.
  struct Task {
    std::unique_ptr<Arena> arena;
    std::unique_ptr<PreparedLayer> layer;        // of a layer
    std::unique_ptr<PreparedGradient> gradient;  // of a gradient
    bool keeps = false;                          // something of the weights: it is prepared again in each run
  };

  TrainingStep(const StepPlan& plan, const NetworkWeights& weights, Device& device, Reservation memory, bool poison)
      : plan_(plan), weights_(weights), device_(device), memory_(std::move(memory)), poison_(poison) {}

  [[nodiscard]] std::byte* place(int buffer) const;
  [[nodiscard]] TensorView view(int tensor) const;
  [[nodiscard]] std::vector<Placement> placements(const StepCall& call) const;
  [[nodiscard]] Result<void> prepare(const StepCall& call, Task& task);
  void write_input(std::span<const float> input);
  void run_pad(const StepCall& call);
  [[nodiscard]] Result<void> run_call(const StepCall& call, Task& task, NetworkWeights& gradients);
  [[nodiscard]] Result<void> run_gradient(const StepCall& call, Task& task, NetworkWeights& gradients);
  [[nodiscard]] double run_loss(const StepCall& call, Task& task, const LossOfOutput& loss);

  StepPlan plan_;
  const NetworkWeights& weights_;
  Device& device_;
  Reservation memory_;
  bool poison_;
  std::vector<Task> tasks_;           // as in StepPlan::calls
  std::vector<TransposedTies> ties_;  // per node
};

}  // namespace znni
