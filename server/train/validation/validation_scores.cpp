#include "server/train/validation/validation_scores.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "server/train/loss/logit_math.hpp"

namespace znni {

std::string to_string(const ValidationScore& score) {
  std::array<char, 80> text{};
  if (score.precision_recall) {
    std::snprintf(text.data(), text.size(), "average precision %.4g", score.precision_recall->average_precision);
  } else if (score.accuracy && score.mean_dice) {
    std::snprintf(text.data(), text.size(), "accuracy %.4g, mean Dice %.4g", *score.accuracy, *score.mean_dice);
  }
  return text.data();
}

double merit(const ValidationScore& score) {
  if (score.precision_recall) return score.precision_recall->average_precision;
  return score.mean_dice.value_or(-score.loss);
}

ValidationScores::ValidationScores(const Loss& loss, bool are_binary) : loss_(loss), sum_(loss) {
  if (loss.probability() == Probability::softmax) {
    classes_.emplace(loss.channels());
  } else if (are_binary) {
    histogram_.emplace();
  }
}

void ValidationScores::add(std::span<const float> logits, const LossTargets& targets) {
  sum_.add(logits, targets);
  voxels_ += std::count_if(targets.weights.begin(), targets.weights.end(), [](float each) { return each != 0; });
  if (classes_) count_classes(logits, targets);
  if (histogram_) count_scores(logits, targets);
}

void ValidationScores::count_classes(std::span<const float> logits, const LossTargets& targets) {
  const std::size_t voxels = targets.weights.size();
  for (std::size_t v = 0; v < voxels; ++v) {
    if (targets.weights[v] == 0) continue;
    std::size_t named = 0;
    for (std::size_t c = 1; c * voxels < logits.size(); ++c) {
      if (logits[c * voxels + v] > logits[named * voxels + v]) named = c;
    }
    classes_->add(named, static_cast<std::size_t>(targets.targets[v]));
  }
}

void ValidationScores::count_scores(std::span<const float> logits, const LossTargets& targets) {
  const std::size_t voxels = targets.weights.size();
  for (std::size_t at = 0; at < logits.size(); ++at) {
    if (targets.weights[at % voxels] != 0) histogram_->add(logits[at], targets.targets[at] == 1);
  }
}

ValidationScore ValidationScores::score() const {
  ValidationScore score;
  score.loss = sum_.value();
  if (histogram_) score.precision_recall = histogram_->measure();
  if (score.precision_recall && loss_.probability() == Probability::sigmoid) {
    score.precision_recall->best_threshold = sigmoid(score.precision_recall->best_threshold);
  }
  if (classes_) {
    score.accuracy = classes_->accuracy();
    score.mean_dice = classes_->mean_dice();
    score.dice = classes_->dice();
  }
  return score;
}

}  // namespace znni
