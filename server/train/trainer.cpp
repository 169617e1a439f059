#include "server/train/trainer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <utility>

#include "planner/base/text_table.hpp"
#include "primitives/core/write_atomically.hpp"
#include "server/train/learning_rate.hpp"
#include "server/train/weight_parts.hpp"

namespace znni {
namespace {

constexpr std::size_t max_losses = 50;

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

Error not_finite(const std::string& found) {
  return {ErrorCode::invalid_argument, found + "; lower learning_rate, warm up, or set clip_norm, and give --restart"};
}

Error not_finite(std::string_view what, double value) {
  return not_finite("the " + std::string(what) + " is " + std::to_string(value));
}

bool are_finite(const NetworkWeights& weights) {
  return std::all_of(weights.begin(), weights.end(), [](const NodeWeights& node) {
    return std::all_of(weight_parts.begin(), weight_parts.end(), [&](auto part) {
      return std::all_of((node.*part).begin(), (node.*part).end(), [](float weight) { return std::isfinite(weight); });
    });
  });
}

// Copies in place, because what computes the steps may have the addresses of the weights.
void copy_weights(const NetworkWeights& from, NetworkWeights& to) {
  for (std::size_t node = 0; node < to.size(); ++node) {
    for (const auto part : weight_parts)
      std::copy((from[node].*part).begin(), (from[node].*part).end(), (to[node].*part).begin());
  }
}

// Returns ", validation loss 0.41, average precision 0.78"; "" without a validation.
std::string validation_text(const std::optional<ValidationScore>& score) {
  if (!score) return "";
  std::array<char, 40> loss{};
  std::snprintf(loss.data(), loss.size(), ", validation loss %.4g", score->loss);
  const std::string rest = to_string(*score);
  return loss.data() + (rest.empty() ? "" : ", " + rest);
}

std::string name_of_step(std::int64_t step) { return "step " + std::to_string(step); }

}  // namespace

Trainer::Trainer(TrainerSettings settings, TrainerCalls calls, NetworkWeights& weights, TrainLog& log)
    : settings_(std::move(settings)),
      calls_(std::move(calls)),
      weights_(weights),
      log_(log),
      optimizer_(settings_.optimizer, weights),
      gradients_(zeros_like(weights)) {}

Result<void> Trainer::resume(Checkpoint checkpoint) {
  const auto refuse = [&](const std::string& what) { return other_checkpoint(settings_.checkpoint_file, what); };
  if (checkpoint.training != settings_.training) return refuse("training");
  if (checkpoint.steps > settings_.steps || !have_equal_sizes(checkpoint.weights, weights_)) {
    return refuse("network");
  }
  if (!optimizer_.restore(std::move(checkpoint.optimizer))) return refuse("optimizer");
  copy_weights(checkpoint.weights, weights_);
  done_ = checkpoint.steps;
  if (settings_.best_file.empty()) return {};
  const Result<std::optional<Checkpoint>> best = find_best(settings_.best_file, settings_.training, done_);
  if (!best) return best.error();
  if (*best) best_merit_ = (*best)->merit;
  return {};
}

Result<StepRecord> Trainer::do_step() {
  const double begin = calls_.seconds();
  const Result<double> loss = calls_.compute(done_, gradients_);
  const std::string place = name_of_step(done_ + 1);
  if (!loss) return loss.error().within(place);
  if (!std::isfinite(*loss)) return not_finite("loss", *loss).within(place);
  const double rate = learning_rate(settings_.rate, done_, settings_.steps);
  const double norm = optimizer_.update(weights_, gradients_, rate);
  if (!std::isfinite(norm)) return not_finite("norm of the gradients", norm).within(place);
  ++done_;
  return StepRecord{done_, *loss, rate, norm, calls_.seconds() - begin};
}

Result<bool> Trainer::finish_step(const StepRecord& record) {
  if (last_losses_.size() < max_losses) {
    last_losses_.push_back(record.loss);
  } else {
    last_losses_[static_cast<std::size_t>(done_) % max_losses] = record.loss;
  }
  if (Result<void> added = log_.add(record); !added) return added.error();
  const bool is_kept = is_due(settings_.checkpoint_steps) || is_validation_due();
  if (is_kept) {
    if (Result<void> written = write_checkpoint(""); !written) return written.error();
  }
  const Result<bool> validated = validate();
  if (!validated) return validated.error();
  calls_.tell(progress());
  const bool stops = !*validated || (done_ < settings_.steps && calls_.is_stopped());
  if (stops && !is_kept) {
    if (Result<void> written = write_checkpoint(""); !written) return written.error();
  }
  return !stops;
}

bool Trainer::is_validation_due() const {
  return calls_.validate && done_ > 0 && is_due(settings_.validation_steps) && !log_.is_validated(done_);
}

Result<bool> Trainer::validate() {
  if (!is_validation_due()) return true;
  const double begin = calls_.seconds();
  const Result<std::optional<ValidationScore>> score = calls_.validate();
  validation_seconds_ += calls_.seconds() - begin;
  if (!score) return score.error().within("validation");
  if (!*score) return false;
  ++validations_;
  last_score_ = *score;
  if (Result<void> kept = keep_if_best(**score); !kept) return kept.error();
  if (Result<void> added = log_.add_validation(done_, **score); !added) return added.error();
  if (Result<void> drawn = draw_log(); !drawn) return drawn.error();
  return true;
}

Result<void> Trainer::keep_if_best(const ValidationScore& score) {
  const double own = merit(score);
  if (settings_.best_file.empty() || (best_merit_ && own <= *best_merit_)) return {};
  best_merit_ = own;
  return znni::write_checkpoint(settings_.best_file,
                                {settings_.training, done_, "", weights_, {}, settings_.with, own});
}

Result<TrainingEnd> Trainer::run() {
  done_before_ = done_;
  begin_ = calls_.seconds();
  Result<bool> goes_on = validate();  // the one in which an earlier run was stopped
  while (goes_on && *goes_on && done_ < settings_.steps) {
    const Result<StepRecord> record = do_step();
    if (!record) return record.error();
    goes_on = finish_step(*record);
  }
  if (!goes_on) return goes_on.error().within(name_of_step(done_));
  TrainingEnd end{done_, !*goes_on, std::nullopt};
  if (!last_losses_.empty()) end.mean_loss = mean_of(last_losses_);
  return end;
}

Result<void> Trainer::draw_log() {
  if (Result<void> synced = log_.sync(); !synced) return synced;
  return write_atomically(settings_.curve_file, log_.curve().svg());
}

Result<void> Trainer::write_checkpoint(const std::string& written_as) {
  if (!are_finite(weights_)) return not_finite("a weight is not finite");
  if (Result<void> synced = log_.sync(); !synced) return synced;
  const Checkpoint checkpoint{settings_.training, done_, written_as, weights_, optimizer_.state(), settings_.with};
  if (Result<void> kept = znni::write_checkpoint(settings_.checkpoint_file, checkpoint); !kept) return kept;
  return draw_log();
}

std::string Trainer::progress() const {
  const double seconds = calls_.seconds() - begin_ - validation_seconds_;
  const auto own = static_cast<double>(done_ - done_before_);
  std::array<char, 160> text{};
  const double rate = seconds > 0 ? own / seconds : 0;
  std::snprintf(text.data(), text.size(), "step %lld of %lld, loss %.4g, %.3g voxels/s", static_cast<long long>(done_),
                static_cast<long long>(settings_.steps), mean_of(last_losses_),
                rate * static_cast<double>(settings_.voxels));
  return text.data() + validation_text(last_score_) +
         (rate > 0 ? ", " + duration_text(seconds_left(rate)) + " left" : "");
}

double Trainer::seconds_left(double steps_per_second) const {
  const double steps = static_cast<double>(settings_.steps - done_) / steps_per_second;
  if (validations_ == 0) return steps;
  const std::int64_t left = div_up(settings_.steps, settings_.validation_steps) - done_ / settings_.validation_steps;
  const bool is_done = done_ == settings_.steps;
  return steps + (is_done ? 0 : static_cast<double>(left) * validation_seconds_ / static_cast<double>(validations_));
}

}  // namespace znni
