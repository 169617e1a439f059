// znni-train: reads network, configuration and volumes, plans a step, trains, writes the next version of the model.
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "planner/base/memory_limit.hpp"
#include "planner/base/progress.hpp"
#include "planner/costs/catalogue.hpp"
#include "planner/train/step_plan.hpp"
#include "primitives/core/file_handle.hpp"
#include "primitives/core/version.hpp"
#include "primitives/cpu/backend.hpp"
#include "primitives/cpu/device/machine.hpp"
#include "primitives/cpu/device/openmp_waiting.hpp"
#include "primitives/cpu/fft/fft_1d.hpp"
#include "primitives/cpu/grad/gradients.hpp"
#include "server/signals.hpp"
#include "server/train/final_versions.hpp"
#include "server/train/first_weights.hpp"
#include "server/train/model_version.hpp"
#include "server/train/options.hpp"
#include "server/train/output_folder.hpp"
#include "server/train/samples/ahead_samples.hpp"
#include "server/train/setup.hpp"
#include "server/train/step/step_runner.hpp"
#include "server/train/trainer.hpp"
#include "server/train/validation/validator.hpp"

namespace znni::train {
namespace {

// What is read before anything is computed.
struct Inputs {
  Options options;
  TrainConfig config;
  std::int64_t memory = 0;
  int threads = 0;
  TrainedNetwork trained;
  Shape5 input;
  Shape5 output;
  std::optional<Loss> loss;
  std::string training;  // Checkpoint::training
  std::string volumes;   // TrainedWith::volumes
};

void say(const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); }

int fail(const Error& error) {
  say("znni-train: " + error.message);
  return 1;
}

InputScale scale_of(const TrainConfig& config) {
  return {static_cast<float>(config.input_scale), static_cast<float>(config.input_offset)};
}

Result<std::int64_t> memory_of(const Options& options) {
  const Result<MemoryLimit> memory =
      choose_memory_limit(options.memory, std::getenv("ZNNI_MEM"), {cpu::default_memory_budget(), cpu::memory_limit()});
  if (!memory) return memory.error();
  if (!memory->warning.empty()) say(memory->warning);
  return memory->bytes;
}

// Sets the loss. Fails if it does not fit network and targets.
Result<void> make_loss(Inputs& inputs) {
  const TrainConfig& config = inputs.config;
  Result<Loss> loss = Loss::make(config.loss, inputs.trained.probability, inputs.output.f);
  if (!loss) return loss.error().within(inputs.options.config);
  const Result<void> fits = check_target_channels(config.targets, *loss, inputs.output.f);
  if (!fits) return fits.error().within(inputs.options.config);
  inputs.loss = *std::move(loss);
  return {};
}

// Sets network, shapes and loss.
Result<void> read_network(Inputs& inputs) {
  constexpr std::int64_t copies = 8;  // of the weights, at least, in all that a training holds
  const std::string& path = inputs.options.model;
  Result<FirstNetwork> first = read_first_network(path, inputs.config.seed, inputs.memory / copies);
  if (!first) return first.error();
  say(first->note);
  Result<TrainedNetwork> trained = network_for(inputs.config.loss.kind, std::move(first->loaded));
  if (!trained) return trained.error().within(path);
  inputs.trained = *std::move(trained);
  if (!inputs.trained.note.empty()) say(inputs.trained.note);
  const Network& network = inputs.trained.loaded.network;
  const Result<void> writable = check_writable(with_weights(inputs.trained, inputs.trained.loaded.weights));
  if (!writable) return writable.error().within(path);
  const Result<Vec3> output = output_of_patch(network, inputs.config.patch);
  if (!output) return output.error().within(path);
  inputs.input = {1, network.f_in, inputs.config.patch};
  inputs.output = {1, images(network).back(), *output};
  return make_loss(inputs);
}

Result<Inputs> read_inputs(const Options& options) {
  Result<TrainConfig> config = read_train_config(options.config);
  if (!config) return config.error();
  if (Result<void> fits = check_model_folder(options.output, scale_of(*config)); !fits) return fits.error();
  const Result<std::int64_t> memory = memory_of(options);
  if (!memory) return memory.error();
  Inputs inputs;
  inputs.options = options;
  inputs.config = *std::move(config);
  inputs.memory = *memory;
  inputs.threads = options.threads.value_or(cpu::default_threads());
  if (Result<void> read = read_network(inputs); !read) return read.error();
  inputs.training = training_fingerprint(inputs.trained, inputs.config);
  inputs.volumes = volumes_state(names_of(inputs.config.volumes)) + volumes_state(names_of(inputs.config.validation));
  return inputs;
}

// Samples, the step, and validation, with what is left of the memory.
struct Prepared {
  std::unique_ptr<VolumeSamples> samples;
  StepPlan plan;
  std::int64_t validation_volumes = 0;   // bytes
  std::unique_ptr<Validator> validator;  // nullptr if there are no volumes for it
};

Result<StepPlan> plan_within(const Inputs& inputs, std::int64_t bytes) {
  const std::vector<const Backend*> backends = {&cpu::backend()};
  const Result<Catalogue> catalogue = Catalogue::make(backends);
  if (!catalogue) return catalogue.error();
  const StepParts parts = {*catalogue, cpu::gradient_registry(), cpu::describe_cpu(inputs.threads)};
  Result<StepPlan> plan = plan_step(inputs.trained.loaded.network, inputs.config.patch, {bytes, false}, parts);
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

Result<Prepared> prepare(const Inputs& inputs) {
  const TrainConfig& config = inputs.config;
  const std::int64_t weights = weight_bytes(inputs.trained.loaded.network);
  const TrainingMemory own = training_memory(config.optimizer, weights, inputs.input, inputs.output);
  std::int64_t left = inputs.memory - own.total();
  if (left <= 0) {
    return Error{ErrorCode::over_budget, "--mem is " + bytes_text(inputs.memory) + ", and a training takes " +
                                             bytes_text(own.total()) + " without volumes and step; give it more"};
  }
  Prepared prepared;
  SampleOptions options = sample_options(config, inputs.input.f, inputs.output.n);
  options.largest_class = inputs.loss->largest_target();
  Result<std::unique_ptr<VolumeSamples>> samples = open_within(config.volumes, options, left / 4);
  if (!samples) return samples.error();
  prepared.samples = *std::move(samples);
  left -= prepared.samples->memory_bytes();
  Result<OpenVolumes> validation = open_validation_within(config.validation, inputs.input.f, left / 4);
  if (!validation) return validation.error();
  left -= validation->bytes;
  Result<StepPlan> plan = plan_within(inputs, left);
  if (!plan) return plan.error();
  prepared.plan = *std::move(plan);
  if (config.validation.empty()) return prepared;
  const Result<void> made = prepare_validation(inputs, *std::move(validation), left - 2 * weights, prepared);
  if (!made) return made.error();
  return prepared;
}

void explain(const Inputs& inputs, const Prepared& prepared) {
  for (const std::string& line : describe(prepared.plan)) std::printf("%s\n", line.c_str());
  const TrainingMemory own = training_memory(inputs.config.optimizer, weight_bytes(inputs.trained.loaded.network),
                                             inputs.input, inputs.output);
  const std::int64_t volumes = prepared.samples->memory_bytes() + prepared.validation_volumes;
  std::printf("memory: step %s, volumes %s, optimizer %s, copies while written %s, samples %s, process %s, of %s\n",
              bytes_text(prepared.plan.bytes.total()).c_str(), bytes_text(volumes).c_str(),
              bytes_text(own.optimizer).c_str(), bytes_text(own.copies).c_str(), bytes_text(own.samples).c_str(),
              bytes_text(own.process).c_str(), bytes_text(inputs.memory).c_str());
  if (prepared.validator == nullptr) return;
  std::printf("validation: patches of %s, and %s in place of the step's memory\n",
              to_string(prepared.validator->patch()).c_str(), bytes_text(prepared.validator->memory().total()).c_str());
}

TrainedWith trained_with(const Inputs& inputs, const StepPlan& plan) {
  return {inputs.volumes, plan_fingerprint(plan),
          "--mem " + std::to_string(inputs.memory) + " --threads " + std::to_string(inputs.threads)};
}

TrainerSettings trainer_settings(const Inputs& inputs, const StepPlan& plan) {
  const TrainConfig& config = inputs.config;
  return {config.steps,
          config.rate,
          config.optimizer,
          config.checkpoint_steps,
          config.validation_steps,
          voxels(inputs.output.n),
          inputs.training,
          trained_with(inputs, plan),
          checkpoint_file(inputs.options.output),
          config.keeps_best ? best_file(inputs.options.output) : "",
          curve_file(inputs.options.output)};
}

double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Returns the words of a version: "version 2 is in DIR", and which weights it has if the one before it has others.
std::string versions_text(const Inputs& inputs, const FinalVersions& versions) {
  const std::string newest = "version " + versions.newest + " is in " + inputs.options.output;
  if (!versions.best_step) return newest;
  return newest + ", with the weights of the best validation, of step " + std::to_string(*versions.best_step) +
         "; the version before it has the last ones";
}

// Writes the model, and that it was written.
int finish(const Inputs& inputs, Trainer& trainer, const TrainingEnd& end) {
  const Result<FinalVersions> versions =
      write_final_versions({inputs.trained, inputs.options.output, scale_of(inputs.config), inputs.training, end.steps,
                            inputs.config.keeps_best, end.mean_loss.has_value()});
  if (!versions) return fail(versions.error());
  if (const Result<void> written = trainer.write_checkpoint(versions->newest); !written) return fail(written.error());
  std::array<char, 40> loss{};
  if (end.mean_loss) std::snprintf(loss.data(), loss.size(), ", loss %.4g", *end.mean_loss);
  say(std::to_string(end.steps) + " steps are done" + loss.data() + ": " + versions_text(inputs, *versions));
  return 0;
}

// Begins with the checkpoint, and says what has changed since.
Result<void> go_on(Trainer& trainer, Checkpoint checkpoint, const TrainedWith& with) {
  const std::int64_t steps = checkpoint.steps;
  const std::vector<std::string> changed = changes(checkpoint.with, with);
  if (Result<void> taken = trainer.resume(std::move(checkpoint)); !taken) return taken;
  say("goes on from the checkpoint of step " + std::to_string(steps));
  for (const std::string& line : changed) say("warning: " + line);
  return {};
}

int stopped(const Options& options, std::int64_t steps, int signal) {
  say("stopped: the checkpoint has step " + std::to_string(steps) + "; the same command " +
      (options.restart ? "without --restart " : "") + "goes on from it");
  return 128 + signal;
}

int train(Inputs& inputs, Prepared& prepared, std::optional<Checkpoint> checkpoint, const TerminationSignals& signals) {
  NetworkWeights& weights = inputs.trained.loaded.weights;
  StepRunner runner({inputs.trained.loaded.network, prepared.plan, weights, *inputs.loss, cpu::backend()});
  if (const Result<void> ready = runner.prepare(); !ready) return fail(ready.error());
  Result<TrainLog> log = TrainLog::open(log_file(inputs.options.output), checkpoint ? checkpoint->steps : 0);
  if (!log) return fail(log.error());

  Progress progress(std::cerr, ::isatty(STDERR_FILENO) == 1);
  std::optional<int> signal;
  AheadSamples samples(*prepared.samples, static_cast<std::uint64_t>(inputs.config.steps));
  TrainerCalls calls;
  calls.compute = [&](std::int64_t number, NetworkWeights& gradients) {
    return runner.run(samples, number, gradients);
  };
  calls.is_stopped = [&] {
    if (!signal) signal = signals.wait_for(std::chrono::milliseconds(0));
    return signal.has_value();
  };
  if (prepared.validator) {
    calls.validate = [&] {
      runner.release();
      samples.rest();
      const StopAtSignal stop(signals, signal);
      return prepared.validator->run(stop.token());
    };
  }
  calls.tell = [&progress](const std::string& text) {
    progress.tell(text);
    progress.tick();
  };
  calls.seconds = monotonic_seconds;
  Trainer trainer(trainer_settings(inputs, prepared.plan), std::move(calls), weights, *log);
  if (checkpoint) {
    const Result<void> begun = go_on(trainer, *std::move(checkpoint), trained_with(inputs, prepared.plan));
    if (!begun) return fail(begun.error());
  }
  const Result<TrainingEnd> end = trainer.run();
  progress.wipe();
  if (!end) return fail(end.error());
  return end->is_stopped ? stopped(inputs.options, end->steps, *signal) : finish(inputs, trainer, *end);
}

// Says that there is nothing to do.
int already_done(const Inputs& inputs, const Checkpoint& checkpoint) {
  say("all " + std::to_string(inputs.config.steps) + " steps are done, and version " + checkpoint.written_as +
      " was written of them; --restart trains again");
  const std::string changed = changed_file(checkpoint.with.volumes, inputs.volumes);
  if (!changed.empty()) {
    say("warning: " + changed + ": has changed since then, and the model has not seen it: --restart trains on it");
  }
  return 0;
}

// What there is before the first step.
struct Begun {
  Inputs inputs;
  std::optional<FileHandle> lock;
  std::optional<Checkpoint> checkpoint;
  Prepared prepared;
};

// Returns the exit code if there is nothing to train.
std::optional<int> prepare(Begun& begun) {
  Result<Prepared> prepared = prepare(begun.inputs);
  if (!prepared) return fail(prepared.error());
  begun.prepared = *std::move(prepared);
  if (!begun.inputs.options.explain) return std::nullopt;
  explain(begun.inputs, begun.prepared);
  return 0;
}

// Returns the exit code if there is nothing to train. With --restart the old checkpoint is removed: the same command
// without it must not go on from there. Best weights without a checkpoint are of an older training.
std::optional<int> begin(const Options& options, Begun& begun) {
  Result<Inputs> inputs = read_inputs(options);
  if (!inputs) return fail(inputs.error());
  begun.inputs = *std::move(inputs);
  if (options.explain) return prepare(begun);
  Result<FileHandle> lock = lock_output(options.output);
  if (!lock) return fail(lock.error());
  begun.lock.emplace(*std::move(lock));
  if (!options.restart) {
    Result<std::optional<Checkpoint>> found = find_checkpoint(options.output, begun.inputs.training);
    if (!found) return fail(found.error());
    begun.checkpoint = *std::move(found);
  }
  const std::optional<Checkpoint>& checkpoint = begun.checkpoint;
  if (checkpoint && !checkpoint->written_as.empty()) return already_done(begun.inputs, *checkpoint);
  if (const std::optional<int> exit_code = prepare(begun)) return exit_code;
  const Result<void> removed = checkpoint ? Result<void>() : remove_checkpoint(options.output);
  return removed ? std::nullopt : std::optional(fail(removed.error()));
}

// Ends at once if a signal comes before the first step, because there is nothing to keep. A signal that comes after the
// last step changes nothing.
int run(const Options& options) {
  const TerminationSignals signals;
  Begun begun;
  {
    SecondSignal ends(signals);
    ends.watch();
    if (const std::optional<int> exit_code = begin(options, begun)) return *exit_code;
  }
  const int exit_code = train(begun.inputs, begun.prepared, std::move(begun.checkpoint), signals);
  while (signals.wait_for(std::chrono::milliseconds(0))) {
  }
  return exit_code;
}

}  // namespace
}  // namespace znni::train

int main(int argc, char** argv) {
  using namespace znni;
  cpu::let_openmp_sleep(argv);
  const std::vector<const char*> arguments(argv + 1, argv + argc);
  const train::Command command = train::parse_options(arguments, version_text("znni-train", cpu::fft_1d_notice()));
  if (command.exit_code) {
    std::fputs(command.text.c_str(), *command.exit_code == 0 ? stdout : stderr);
    return *command.exit_code;
  }
  return train::run(command.options);
}
