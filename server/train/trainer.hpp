// The loop of a training: step after step until all are done, with a log, checkpoints and validations. It knows neither
// networks nor volumes: what a step computes is a function.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "planner/network/network.hpp"
#include "proto/convert/text/train_config.hpp"
#include "server/train/checkpoint.hpp"
#include "server/train/train_log.hpp"

namespace znni {

struct TrainerSettings {
  std::int64_t steps = 0;
  LearningRate rate;
  OptimizerSettings optimizer;
  std::int64_t checkpoint_steps = 100;
  std::int64_t validation_steps = 500;
  std::int64_t voxels = 0;  // of the output, in one step
  std::string training;     // Checkpoint::training
  TrainedWith with;         // Checkpoint::with
  std::string checkpoint_file;
  std::string best_file;   // gets the weights of the best validation so far; "": they are not kept
  std::string curve_file;  // a picture of the log (curve.hpp), written with each checkpoint and validation
};

struct TrainerCalls {
  // Writes the gradients of all weights for step 0, 1, ..., and returns the loss. It depends on the step and the
  // weights alone: a training that continues from a checkpoint calls it with the steps that are left.
  std::function<Result<double>(std::int64_t step, NetworkWeights& gradients)> compute;
  // Returns the score of the validation volumes; nothing if it was stopped. May be empty.
  std::function<Result<std::optional<ValidationScore>>()> validate;
  std::function<bool()> is_stopped;                   // asked after every step but the last
  std::function<void(const std::string& text)> tell;  // after every step: what is done, how fast, what is left
  std::function<double()> seconds;                    // of a clock that never goes back
};

// How a training ended: all steps are done, and the last validation, unless it was stopped.
struct TrainingEnd {
  std::int64_t steps = 0;
  bool is_stopped = false;
  std::optional<double> mean_loss;  // of the last steps of this run, 50 at most; nothing if it did none
};

class Trainer {
 public:
  // `weights` are changed in place by run(); they and `log` outlive the trainer.
  Trainer(TrainerSettings settings, TrainerCalls calls, NetworkWeights& weights, TrainLog& log);

  // Goes on from there, and from the best weights that are kept; the addresses of the weights stay. Fails if the
  // checkpoint is of another training, or has other sizes, or if the file of the best weights cannot be read.
  [[nodiscard]] Result<void> resume(Checkpoint checkpoint);

  // Trains until all steps are done or is_stopped() says so. A checkpoint of the last step is written in both cases,
  // and one before each validation, so that no step is lost if that fails. A validation that was stopped is done first
  // by the run that goes on. Fails if a call does, or if a file cannot be written. It also fails if loss, gradient or,
  // when a checkpoint is due, a weight is not finite; the last checkpoint remains, then. The error names the step, from
  // 1.
  [[nodiscard]] Result<TrainingEnd> run();

  // Writes a checkpoint that says as which version of the model these weights were written. Fails if one is not finite.
  [[nodiscard]] Result<void> write_checkpoint(const std::string& written_as);

 private:
  Result<StepRecord> do_step();
  // Each returns whether to go on, instead of to stop.
  Result<bool> finish_step(const StepRecord& record);
  Result<bool> validate();
  // Writes the weights if the score is better than all before it. They are on the disk before the log has the score:
  // a training that is killed in between has the validation again.
  Result<void> keep_if_best(const ValidationScore& score);
  // Writes the log to the disk, and its picture.
  Result<void> draw_log();
  [[nodiscard]] bool is_validation_due() const;
  [[nodiscard]] std::string progress() const;
  // Returns the seconds of all steps and validations that are left. A validation takes as long as those of this run;
  // before the first it takes none.
  [[nodiscard]] double seconds_left(double steps_per_second) const;
  [[nodiscard]] bool is_due(std::int64_t period) const { return done_ % period == 0 || done_ == settings_.steps; }

  TrainerSettings settings_;
  TrainerCalls calls_;
  NetworkWeights& weights_;
  TrainLog& log_;
  Optimizer optimizer_;
  NetworkWeights gradients_;
  std::int64_t done_ = 0;
  std::int64_t done_before_ = 0;               // at the start of run()
  double begin_ = 0;                           // likewise, seconds
  double validation_seconds_ = 0;              // of this run
  std::int64_t validations_ = 0;               // likewise
  std::vector<double> last_losses_;            // the newest of them at done_ % size
  std::optional<ValidationScore> last_score_;  // of this run
  std::optional<double> best_merit_;           // of all runs
};

}  // namespace znni
