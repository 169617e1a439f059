#include "server/train/step/step_runner.hpp"

#include <utility>

namespace znni {

Result<void> StepRunner::prepare() {
  if (step_ != nullptr) return {};
  Result<std::unique_ptr<Device>> device = parts_.backend.open(parts_.plan.device, parts_.plan.bytes.step, 0, 0);
  if (!device) return device.error();
  device_ = *std::move(device);
  Result<std::unique_ptr<TrainingStep>> step =
      TrainingStep::prepare(parts_.network, parts_.plan, parts_.weights, *device_);
  if (!step) return step.error();
  step_ = *std::move(step);
  return {};
}

Result<double> StepRunner::run(SampleSource& source, std::int64_t number, NetworkWeights& gradients) {
  const Result<Sample> sample = source.sample(static_cast<std::uint64_t>(number));
  if (!sample) return sample.error();
  const LossTargets targets = {sample->target, sample->weight};
  const Loss& loss = parts_.loss;
  if (const Result<void> sound = loss.check(targets); !sound) return sound.error().within(sample->labels);
  if (const Result<void> ready = prepare(); !ready) return ready.error();
  const auto compare = [&](std::span<const float> output, std::span<float> gradient) {
    return loss(output, targets, gradient);
  };
  return step_->run(sample->input, compare, gradients);
}

void StepRunner::release() {
  step_.reset();
  device_.reset();
}

}  // namespace znni
