// A loss over a volume that is looked at in parts: the value does not depend on how it is cut.
#pragma once

#include <cstdint>
#include <vector>

#include "server/train/loss/losses.hpp"

namespace znni {

class LossSum {
 public:
  // `loss` outlives the sum.
  explicit LossSum(const Loss& loss);

  // Adds the voxels of a part; [channels][voxels], as Loss compares them. Requires loss.check(targets).
  void add(std::span<const float> logits, const LossTargets& targets);
  // Returns the loss of all voxels so far, as Loss defines it; 0 if none is labelled.
  [[nodiscard]] double value() const;

 private:
  // What a Dice loss sums up of a channel.
  struct Overlap {
    double both = 0;   // w p t
    double parts = 0;  // w p + w t
  };
  void add_classes(std::span<const float> logits, const LossTargets& targets);
  void add_channels(std::span<const float> logits, const LossTargets& targets);
  void add_overlap(std::size_t channel, double weight, double probability, double target);

  const Loss& loss_;
  double sum_ = 0;
  double weight_ = 0;  // over which the sum is a mean
  std::vector<Overlap> overlaps_;
};

}  // namespace znni
