#include "server/train/loss/loss_sum.hpp"

#include "server/train/loss/logit_math.hpp"

namespace znni {

LossSum::LossSum(const Loss& loss) : loss_(loss), overlaps_(static_cast<std::size_t>(loss.channels())) {}

void LossSum::add(std::span<const float> logits, const LossTargets& targets) {
  if (loss_.probability() == Probability::softmax) return add_classes(logits, targets);
  add_channels(logits, targets);
}

void LossSum::add_overlap(std::size_t channel, double weight, double probability, double target) {
  overlaps_[channel].both += weight * probability * target;
  overlaps_[channel].parts += weight * (probability + target);
}

void LossSum::add_classes(std::span<const float> logits, const LossTargets& targets) {
  const std::vector<double>& class_weights = loss_.settings().class_weights;
  const std::size_t voxels = targets.weights.size();
  std::vector<double> p(overlaps_.size());
  for (std::size_t v = 0; v < voxels; ++v) {
    const double known = targets.weights[v];
    if (known == 0) continue;
    const auto truth = static_cast<std::size_t>(targets.targets[v]);
    const double weight = class_weights.empty() ? known : known * class_weights[truth];
    sum_ += weight * (softmax_of(logits, v, p) - logits[truth * voxels + v]);
    weight_ += weight;
    for (std::size_t c = 0; c < p.size(); ++c) add_overlap(c, known, p[c], c == truth ? 1.0 : 0.0);
  }
}

void LossSum::add_channels(std::span<const float> logits, const LossTargets& targets) {
  const std::vector<double>& class_weights = loss_.settings().class_weights;
  const double of_0 = class_weights.empty() ? 1 : class_weights[0];
  const double of_1 = class_weights.empty() ? 1 : class_weights[1];
  const bool is_square = loss_.settings().kind == LossKind::square;
  const std::size_t voxels = targets.weights.size();
  for (std::size_t at = 0; at < logits.size(); ++at) {
    const double weight = targets.weights[at % voxels];
    if (weight == 0) continue;
    const double x = logits[at];
    const double t = targets.targets[at];
    weight_ += weight;
    sum_ += weight * (is_square ? (x - t) * (x - t) : of_1 * t * softplus(-x) + of_0 * (1 - t) * softplus(x));
    add_overlap(at / voxels, weight, sigmoid(x), t);
  }
}

double LossSum::value() const {
  if (loss_.settings().kind != LossKind::dice) return weight_ == 0 ? 0 : sum_ / weight_;
  double sum = 0;
  for (const Overlap& each : overlaps_) sum += each.parts == 0 ? 1 : (2 * each.both + 1) / (each.parts + 1);
  return 1 - sum / static_cast<double>(overlaps_.size());
}

}  // namespace znni
