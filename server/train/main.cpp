// znni-train: reads network, configuration and volumes, plans a step, trains, writes the next version of the model.
#include <malloc.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "planner/base/progress.hpp"
#include "primitives/core/file_handle.hpp"
#include "primitives/core/version.hpp"
#include "primitives/cpu/backend.hpp"
#include "primitives/cpu/device/openmp_waiting.hpp"
#include "primitives/cpu/fft/fft_1d.hpp"
#include "server/signals.hpp"
#include "server/train/final_versions.hpp"
#include "server/train/inputs.hpp"
#include "server/train/output_folder.hpp"
#include "server/train/preparation.hpp"
#include "server/train/samples/ahead_samples.hpp"
#include "server/train/step/step_runner.hpp"
#include "server/train/trainer.hpp"

namespace znni::train {
namespace {

void say(const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); }

int fail(const Error& error) {
  say("znni-train: " + error.message);
  return 1;
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
          voxels(strided(inputs.output.n, inputs.stride)),
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
  for (const std::string& line : describe(begun.inputs, begun.prepared)) std::printf("%s\n", line.c_str());
  return 0;
}

// Returns the exit code if there is nothing to train. With --restart the old checkpoint is removed: the same command
// without it must not go on from there. Best weights without a checkpoint are of an older training.
std::optional<int> begin(const Options& options, Begun& begun) {
  Result<Inputs> inputs = read_inputs(options, say);
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

// Lets all threads share one heap. The system reserves 64 MiB or more of address space for each other one, which a
// limit on that (ulimit -v) counts.
void share_heap() { mallopt(M_ARENA_MAX, 1); }

// Ends the process, on any thread, because the system gives no memory. The first thread that lacks it says so. Files
// are whole, as after a kill.
[[noreturn]] void end_without_memory() {
  static std::atomic_flag said;
  while (said.test_and_set()) pause();
  std::fputs(
      "znni-train: the system gives the process no more memory: raise its limit (ulimit -v), or give less --mem; "
      "without --restart the same command goes on from the last checkpoint, if there is one\n",
      stderr);
  std::_Exit(1);
}

int run_with_threads(const Options& options) {
  try {
    return run(options);
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::resource_unavailable_try_again) throw;
    say(std::string("znni-train: the system grants no more threads (") + error.what() +
        "): raise the limits on processes and on memory (ulimit -v), or give fewer --threads");
    return 1;
  }
}

}  // namespace
}  // namespace znni::train

int main(int argc, char** argv) {
  using namespace znni;
  train::share_heap();
  std::set_new_handler(train::end_without_memory);
  cpu::let_openmp_sleep(argv);
  const std::vector<const char*> arguments(argv + 1, argv + argc);
  const train::Command command = train::parse_options(arguments, version_text("znni-train", cpu::fft_1d_notice()));
  if (command.exit_code) {
    std::fputs(command.text.c_str(), *command.exit_code == 0 ? stdout : stderr);
    return *command.exit_code;
  }
  return train::run_with_threads(command.options);
}
