#include "server/train/loss/losses.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "server/train/loss/logit_math.hpp"

namespace znni {
namespace {

double sum_of(std::span<const float> values) { return std::accumulate(values.begin(), values.end(), 0.0); }

// The tensors of one evaluation. Targets may have one channel.
struct Field {
  std::span<const float> logits;
  LossTargets truth;
  std::span<float> gradient;
  std::size_t channels = 0;

  [[nodiscard]] std::size_t voxels() const { return truth.weights.size(); }
  [[nodiscard]] double weight(std::size_t voxel) const { return truth.weights[voxel]; }
  [[nodiscard]] std::size_t class_of(std::size_t voxel) const { return static_cast<std::size_t>(truth.targets[voxel]); }
};

double binary_cross_entropy(const Field& field, double weight_0, double weight_1) {
  const double scale = 1.0 / (static_cast<double>(field.channels) * sum_of(field.truth.weights));
  double sum = 0;
  for (std::size_t at = 0; at < field.logits.size(); ++at) {
    const double weight = field.weight(at % field.voxels());
    if (weight == 0) continue;
    const BothSigns x(field.logits[at]);
    const double ones = weight * weight_1 * field.truth.targets[at];
    const double zeros = weight * weight_0 * (1.0 - field.truth.targets[at]);
    sum += ones * x.softplus_of_negative() + zeros * x.softplus();
    field.gradient[at] = static_cast<float>(scale * (zeros * x.sigmoid() - ones * x.sigmoid_of_negative()));
  }
  return scale * sum;
}

double square(const Field& field) {
  const double scale = 1.0 / (static_cast<double>(field.channels) * sum_of(field.truth.weights));
  double sum = 0;
  for (std::size_t at = 0; at < field.logits.size(); ++at) {
    const double weight = field.weight(at % field.voxels());
    if (weight == 0) continue;
    const double difference = static_cast<double>(field.logits[at]) - field.truth.targets[at];
    sum += weight * difference * difference;
    field.gradient[at] = static_cast<float>(scale * 2 * weight * difference);
  }
  return scale * sum;
}

double softmax_cross_entropy(const Field& field, const std::vector<double>& class_weights) {
  const auto weight = [&](std::size_t voxel) {
    if (field.weight(voxel) == 0 || class_weights.empty()) return field.weight(voxel);
    return field.weight(voxel) * class_weights[field.class_of(voxel)];
  };
  double total = 0;
  for (std::size_t v = 0; v < field.voxels(); ++v) total += weight(v);
  if (total == 0) return 0;  // no class of a voxel counts
  std::vector<double> p(field.channels);
  double sum = 0;
  for (std::size_t v = 0; v < field.voxels(); ++v) {
    if (weight(v) == 0) continue;
    const std::size_t truth = field.class_of(v);
    sum += weight(v) * (softmax_of(field.logits, v, p) - field.logits[truth * field.voxels() + v]);
    for (std::size_t c = 0; c < field.channels; ++c) {
      const double slope = p[c] - (c == truth ? 1.0 : 0.0);
      field.gradient[c * field.voxels() + v] = static_cast<float>(weight(v) / total * slope);
    }
  }
  return sum / total;
}

// The sums of the Dice coefficient of one channel.
struct Overlap {
  double both = 0;   // w p t
  double parts = 0;  // w p + w t

  [[nodiscard]] double coefficient() const { return (2 * both + 1) / (parts + 1); }
  // Returns the derivative of the coefficient by p of a voxel with target t, divided by w.
  [[nodiscard]] double slope(double t) const { return (2 * t - coefficient()) / (parts + 1); }
};

class Dice {
 public:
  Dice(const Field& field, Probability probability)
      : field_(field), is_softmax_(probability == Probability::softmax), p_(field.channels) {}

  double run() {
    std::vector<Overlap> overlaps(field_.channels);
    for (std::size_t v = 0; v < field_.voxels(); ++v) {
      if (field_.weight(v) != 0) add(v, overlaps);
    }
    for (std::size_t v = 0; v < field_.voxels(); ++v) {
      if (field_.weight(v) != 0) write_gradient(v, overlaps);
    }
    double sum = 0;
    for (const Overlap& each : overlaps) sum += each.coefficient();
    return 1 - sum / static_cast<double>(field_.channels);
  }

 private:
  void look_at(std::size_t voxel) {
    if (is_softmax_) {
      softmax_of(field_.logits, voxel, p_);
    } else {
      for (std::size_t c = 0; c < p_.size(); ++c) p_[c] = sigmoid(field_.logits[c * field_.voxels() + voxel]);
    }
  }
  [[nodiscard]] double target(std::size_t c, std::size_t voxel) const {
    if (is_softmax_) return field_.class_of(voxel) == c ? 1.0 : 0.0;
    return field_.truth.targets[c * field_.voxels() + voxel];
  }
  void add(std::size_t voxel, std::vector<Overlap>& overlaps) {
    look_at(voxel);
    for (std::size_t c = 0; c < p_.size(); ++c) {
      overlaps[c].both += field_.weight(voxel) * p_[c] * target(c, voxel);
      overlaps[c].parts += field_.weight(voxel) * (p_[c] + target(c, voxel));
    }
  }
  void write_gradient(std::size_t voxel, const std::vector<Overlap>& overlaps) {
    look_at(voxel);
    const double scale = -field_.weight(voxel) / static_cast<double>(field_.channels);
    double common = 0;  // of a softmax, whose channels move each other
    for (std::size_t c = 0; c < p_.size() && is_softmax_; ++c) common += p_[c] * overlaps[c].slope(target(c, voxel));
    for (std::size_t c = 0; c < p_.size(); ++c) {
      const double slope = overlaps[c].slope(target(c, voxel));
      const double by_logit = is_softmax_ ? p_[c] * (slope - common) : p_[c] * (1 - p_[c]) * slope;
      field_.gradient[c * field_.voxels() + voxel] = static_cast<float>(scale * by_logit);
    }
  }

  const Field& field_;
  bool is_softmax_;
  std::vector<double> p_;
};

Error wrong_target(float found, const std::string& right) {
  std::ostringstream text;
  text << "a target is " << found << "; " << right << " is right";
  return {ErrorCode::invalid_argument, text.str()};
}

bool fits(LossKind kind, Probability probability) {
  switch (kind) {
    case LossKind::binary_cross_entropy: return probability == Probability::sigmoid;
    case LossKind::softmax_cross_entropy: return probability == Probability::softmax;
    case LossKind::square: return probability == Probability::none;
    case LossKind::dice: return probability != Probability::none;
  }
  return false;
}

}  // namespace

Loss::Loss(LossSettings settings, Probability probability, std::int64_t channels)
    : settings_(std::move(settings)), probability_(probability), channels_(channels) {}

Result<Loss> Loss::make(LossSettings settings, Probability probability, std::int64_t channels) {
  ensure(fits(settings.kind, probability), "probabilities of another loss");
  const auto weights = static_cast<std::int64_t>(settings.class_weights.size());
  if (settings.kind == LossKind::softmax_cross_entropy && weights != 0 && weights != channels) {
    return Error{ErrorCode::invalid_argument, "loss: class_weight is a list of " + std::to_string(weights) +
                                                  " numbers; one for each of the network's " +
                                                  std::to_string(channels) + " classes is right"};
  }
  return Loss(std::move(settings), probability, channels);
}

std::int64_t Loss::target_channels() const { return probability_ == Probability::softmax ? 1 : channels_; }

std::uint64_t Loss::largest_target() const {
  switch (probability_) {
    case Probability::none: return max_class;
    case Probability::sigmoid: return 1;
    case Probability::softmax: return static_cast<std::uint64_t>(channels_ - 1);
  }
  return max_class;
}

Result<void> Loss::check(const LossTargets& targets) const {
  const std::size_t voxels = targets.weights.size();
  ensure(targets.targets.size() == voxels * static_cast<std::size_t>(target_channels()), "targets of another loss");
  for (std::size_t at = 0; at < targets.targets.size(); ++at) {
    if (targets.weights[at % voxels] == 0) continue;
    const float t = targets.targets[at];
    if (probability_ == Probability::none && !std::isfinite(t)) return wrong_target(t, "a finite number");
    if (probability_ == Probability::sigmoid && !(t >= 0 && t <= 1)) return wrong_target(t, "0 to 1");
    const bool is_class = t >= 0 && t < static_cast<float>(channels_) && t == std::floor(t);
    if (probability_ == Probability::softmax && !is_class) {
      return wrong_target(t, "a class of the network's output, 0 to " + std::to_string(channels_ - 1) + ",");
    }
  }
  return {};
}

double Loss::operator()(std::span<const float> logits, const LossTargets& targets, std::span<float> gradient) const {
  const Field field = {logits, targets, gradient, static_cast<std::size_t>(channels_)};
  ensure(logits.size() == field.voxels() * field.channels && gradient.size() == logits.size(), "logits of another net");
  std::fill(gradient.begin(), gradient.end(), 0.0F);
  if (sum_of(targets.weights) == 0) return 0;
  const std::vector<double>& weights = settings_.class_weights;
  switch (settings_.kind) {
    case LossKind::binary_cross_entropy:
      return weights.empty() ? binary_cross_entropy(field, 1, 1) : binary_cross_entropy(field, weights[0], weights[1]);
    case LossKind::softmax_cross_entropy: return softmax_cross_entropy(field, weights);
    case LossKind::square: return square(field);
    case LossKind::dice: return Dice(field, probability_).run();
  }
  return 0;
}

}  // namespace znni
