#include "server/train/preparation.hpp"

#include <utility>

#include "planner/costs/catalogue.hpp"
#include "primitives/cpu/backend.hpp"
#include "primitives/cpu/device/machine.hpp"
#include "primitives/cpu/grad/gradients.hpp"
#include "server/train/setup.hpp"

namespace znni::train {
namespace {

Result<StepPlan> plan_within(const Inputs& inputs, std::int64_t bytes) {
  const std::vector<const Backend*> backends = {&cpu::backend()};
  const Result<Catalogue> catalogue = Catalogue::make(backends);
  if (!catalogue) return catalogue.error();
  const StepParts parts = {*catalogue, cpu::gradient_registry(), cpu::describe_cpu(inputs.threads)};
  Result<StepPlan> plan =
      plan_step(inputs.trained.loaded.network, inputs.config.patch, {bytes, inputs.config.is_sparse}, parts);
  return plan ? std::move(plan) : plan.error().within(inputs.options.model);
}

// A validation has the memory of the step, which is given back for it.
Result<void> prepare_validation(const Inputs& inputs, OpenVolumes opened, std::int64_t bytes, Prepared& prepared) {
  const TrainConfig& config = inputs.config;
  const InputScale scale = scale_of(config);
  const ValidationParts parts = {
      inputs.trained.loaded.network,     inputs.trained.loaded.weights, *inputs.loss, cpu::backend(),
      cpu::describe_cpu(inputs.threads), target_kind(config.targets),   scale.scale,  scale.offset};
  Result<std::unique_ptr<Validator>> made = Validator::make(parts, std::move(opened.volumes), bytes);
  if (!made) return made.error();
  prepared.validation_volumes = opened.bytes;
  prepared.validator = *std::move(made);
  return {};
}

// Volumes, and the step that is planned with the memory that they leave.
struct VolumesAndStep {
  std::unique_ptr<VolumeSamples> samples;
  OpenVolumes validation;
  std::int64_t left = 0;  // bytes of the step, and of a validation in its place
  StepPlan plan;
};

// `keeps`: volumes that take no more than a quarter of what is left are kept in memory.
Result<VolumesAndStep> open_and_plan(const Inputs& inputs, std::int64_t left, bool keeps) {
  const TrainConfig& config = inputs.config;
  SampleOptions options = sample_options(config, inputs.input.f, inputs.output.n);
  options.largest_class = inputs.loss->largest_target();
  options.stride = inputs.stride;
  options.keeps_volumes = keeps;
  VolumesAndStep made;
  Result<std::unique_ptr<VolumeSamples>> samples = open_within(config.volumes, options, left / 4);
  if (!samples) return samples.error();
  made.samples = *std::move(samples);
  made.left = left - made.samples->memory_bytes();
  Result<OpenVolumes> validation = open_validation_within(config.validation, inputs.input.f, made.left / 4, keeps);
  if (!validation) return validation.error();
  made.validation = *std::move(validation);
  made.left -= made.validation.bytes;
  Result<StepPlan> plan = plan_within(inputs, made.left);
  if (!plan) return plan.error();
  made.plan = *std::move(plan);
  return made;
}

// Keeps volumes in memory, unless that makes the step slower or leaves it too little.
Result<VolumesAndStep> open_and_plan(const Inputs& inputs, std::int64_t left) {
  Result<VolumesAndStep> kept = open_and_plan(inputs, left, true);
  if (!kept) return kept.error().code == ErrorCode::over_budget ? open_and_plan(inputs, left, false) : std::move(kept);
  const Result<StepPlan> best = plan_within(inputs, left);
  if (!best || best->seconds >= kept->plan.seconds) return kept;
  Result<VolumesAndStep> read = open_and_plan(inputs, left, false);
  return read && read->plan.seconds < kept->plan.seconds ? std::move(read) : std::move(kept);
}

// Prepares validations, too.
Result<Prepared> prepared_of(const Inputs& inputs, VolumesAndStep made, std::int64_t weights) {
  Prepared prepared;
  prepared.samples = std::move(made.samples);
  prepared.plan = std::move(made.plan);
  if (inputs.config.validation.empty()) return prepared;
  const Result<void> ready = prepare_validation(inputs, std::move(made.validation), made.left - 2 * weights, prepared);
  if (!ready) return ready.error();
  return prepared;
}

}  // namespace

Result<Prepared> prepare(const Inputs& inputs) {
  const TrainConfig& config = inputs.config;
  const std::int64_t weights = weight_bytes(inputs.trained.loaded.network);
  const TrainingMemory own = training_memory(config.optimizer, weights, inputs.input, inputs.output);
  const std::int64_t left = inputs.memory - own.total();
  if (left <= 0) {
    return Error{ErrorCode::over_budget, "--mem is " + bytes_text(inputs.memory) + ", and a training takes " +
                                             bytes_text(own.total()) + " without volumes and step; give it more"};
  }
  Result<VolumesAndStep> made = open_and_plan(inputs, left);
  if (!made) return made.error();
  Result<Prepared> prepared = prepared_of(inputs, *std::move(made), weights);
  if (prepared || prepared.error().code != ErrorCode::over_budget) return prepared;
  Result<VolumesAndStep> read = open_and_plan(inputs, left, false);
  return read ? prepared_of(inputs, *std::move(read), weights) : std::move(prepared);
}

std::vector<std::string> describe(const Inputs& inputs, const Prepared& prepared) {
  std::vector<std::string> lines = znni::describe(prepared.plan);
  const TrainingMemory own = training_memory(inputs.config.optimizer, weight_bytes(inputs.trained.loaded.network),
                                             inputs.input, inputs.output);
  const std::int64_t volumes = prepared.samples->memory_bytes() + prepared.validation_volumes;
  lines.push_back("memory: step " + bytes_text(prepared.plan.bytes.total()) + ", volumes " + bytes_text(volumes) +
                  ", optimizer " + bytes_text(own.optimizer) + ", copies while written " + bytes_text(own.copies) +
                  ", samples " + bytes_text(own.samples) + ", process " + bytes_text(own.process) + ", of " +
                  bytes_text(inputs.memory));
  if (prepared.validator == nullptr) return lines;
  lines.push_back("validation: patches of " + to_string(prepared.validator->patch()) + ", and " +
                  bytes_text(prepared.validator->memory().total()) + " in place of the step's memory");
  return lines;
}

}  // namespace znni::train
