// What training minimises, computed on logits, so that no probability is rounded to 0 or 1 on the way. Sums are
// float64, channel by channel or voxel by voxel in the order of memory: equal inputs give bit-equal losses.
//
// Every loss is a mean over the labelled voxels, those whose weight is not 0. With x the logit, t the target, w the
// weight of the voxel and c that of the class:
//   binary cross-entropy: mean of w (c1 t softplus(-x) + c0 (1 - t) softplus(x)), over w and the channels;
//   softmax cross-entropy: mean of w c[t] (log sum over channels of exp(x) - x[t]), over w c[t];
//   square: mean of w (x - t)^2, over w and the channels; x is the network's output;
//   Dice: 1 - mean over the channels of (2 sum w p t + 1) / (sum w p + sum w t + 1), where p is the probability
//   (Milletari et al. 2016, with plain sums; the 1 is for patches without that class).
#pragma once

#include <cstdint>
#include <span>

#include "primitives/core/result.hpp"
#include "proto/convert/text/train_config.hpp"
#include "server/train/samples/targets.hpp"

namespace znni {

// The function that makes probabilities of logits.
enum class Probability { none, sigmoid, softmax };

// What a loss compares logits with, besides: [channels][voxels], or [1][voxels] with the number of the class where the
// probability is a softmax; weights are [voxels], 0 where a voxel is unlabelled.
struct LossTargets {
  std::span<const float> targets;
  std::span<const float> weights;
};

class Loss {
 public:
  // Requires a probability that is the loss's: sigmoid for binary cross-entropy and Dice, softmax for softmax
  // cross-entropy and Dice, none for the square. Fails if a softmax has another number of class weights than channels.
  [[nodiscard]] static Result<Loss> make(LossSettings settings, Probability probability, std::int64_t channels);

  [[nodiscard]] const LossSettings& settings() const { return settings_; }
  [[nodiscard]] Probability probability() const { return probability_; }
  [[nodiscard]] std::int64_t channels() const { return channels_; }
  // Returns the largest whole number that is a target.
  [[nodiscard]] std::uint64_t largest_target() const;
  // Returns the channels that targets must have.
  [[nodiscard]] std::int64_t target_channels() const;

  // Fails if a labelled voxel has a target that the loss cannot use: outside of 0 to 1 for a sigmoid, no number of a
  // channel for a softmax, not finite for the square. The error names the value.
  [[nodiscard]] Result<void> check(const LossTargets& targets) const;

  // Returns the loss, and writes its derivative by each logit; [channels][voxels] both. Both are 0 if no voxel is
  // labelled. Requires check(targets).
  double operator()(std::span<const float> logits, const LossTargets& targets, std::span<float> gradient) const;

 private:
  Loss(LossSettings settings, Probability probability, std::int64_t channels);

  LossSettings settings_;
  Probability probability_;
  std::int64_t channels_;
};

}  // namespace znni
