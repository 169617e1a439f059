// What a validation says of a network: its loss, and how well it finds what it is to find.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/train/loss/loss_sum.hpp"
#include "server/train/validation/class_counts.hpp"
#include "server/train/validation/score_histogram.hpp"

namespace znni {

// Over all labelled voxels of the validation volumes.
struct ValidationScore {
  double loss = 0;
  // Of targets that are 0 and 1, all channels together: with a square loss they are compared with the output, else with
  // the logit, and the threshold is one of the probability. Nothing if no target is 1.
  std::optional<PrecisionRecall> precision_recall = {};
  // Of classes.
  std::optional<double> accuracy = {};
  std::optional<double> mean_dice = {};
  std::vector<std::optional<double>> dice = {};  // per class; nothing for one that does not occur
};

// Returns the score in a few words: "average precision 0.71", "accuracy 0.9, mean Dice 0.6"; "" if there is but a loss.
[[nodiscard]] std::string to_string(const ValidationScore& score);

// Returns what is larger for a better network: the average precision, else the mean Dice coefficient, else the loss,
// negative.
[[nodiscard]] double merit(const ValidationScore& score);

// Counts voxel by voxel; its memory does not depend on their number.
class ValidationScores {
 public:
  // `are_binary`: all targets are 0 or 1. `loss` outlives the scores.
  ValidationScores(const Loss& loss, bool are_binary);

  // Returns the bytes of what is counted.
  [[nodiscard]] static std::int64_t memory_bytes() { return ScoreHistogram::bytes; }
  // Adds the voxels of a part of a volume: [channels][voxels], as Loss compares them. Requires loss.check(targets), and
  // logits that are not NaN.
  void add(std::span<const float> logits, const LossTargets& targets);
  [[nodiscard]] ValidationScore score() const;
  // Returns the number of labelled voxels so far.
  [[nodiscard]] std::int64_t voxels() const { return voxels_; }

 private:
  void count_classes(std::span<const float> logits, const LossTargets& targets);
  void count_scores(std::span<const float> logits, const LossTargets& targets);

  const Loss& loss_;
  LossSum sum_;
  std::int64_t voxels_ = 0;
  std::optional<ScoreHistogram> histogram_;
  std::optional<ClassCounts> classes_;
};

}  // namespace znni
