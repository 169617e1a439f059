// Computes steps of a training: draws a sample, runs the network, compares with the targets. Its memory can be given
// back between two steps, because nothing of a step outlives it.
#pragma once

#include <cstdint>
#include <memory>

#include "planner/train/step_plan.hpp"
#include "primitives/core/primitive.hpp"
#include "server/train/loss/losses.hpp"
#include "server/train/samples/samples.hpp"
#include "server/train/step/training_step.hpp"

namespace znni {

// What a step is made of; all of it outlives the runner.
struct StepRunnerParts {
  const Network& network;
  const StepPlan& plan;
  const NetworkWeights& weights;  // read again by each step
  const Loss& loss;
  const Backend& backend;  // opens plan.device
};

class StepRunner {
 public:
  explicit StepRunner(const StepRunnerParts& parts) : parts_(parts) {}

  // Reserves the memory of the plan, unless that is held already. run() does so, too. Fails as
  // TrainingStep::prepare() does.
  [[nodiscard]] Result<void> prepare();
  // Computes the step with this number, from 0, and returns its loss; writes the gradients of all weights. Fails if the
  // source does, if a target is none of the loss, or as prepare() does.
  [[nodiscard]] Result<double> run(SampleSource& source, std::int64_t number, NetworkWeights& gradients);
  // Gives the memory back, until the next run or prepare(). Steps behind that have the same bits.
  void release();

 private:
  StepRunnerParts parts_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<TrainingStep> step_;  // nullptr while no memory is held
};

}  // namespace znni
