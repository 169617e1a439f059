#include "tests/oracle/tolerance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "primitives/core/overloaded.hpp"

namespace znni::oracle {
namespace {

constexpr double eps = 0x1p-24;

double largest_of(const Values& values) {
  double most = 0.0;
  for (const double value : values) most = std::max(most, std::abs(value));
  return most;
}

double largest_of(std::span<const float> values) { return largest_of(widened(values)); }

// Returns the largest sum of absolute kernel values over the output channels.
double kernel_norm(std::span<const float> kernels, std::int64_t terms) {
  double most = 0.0;
  for (std::size_t begin = 0; begin < kernels.size(); begin += static_cast<std::size_t>(terms)) {
    double sum = 0.0;
    for (const float weight : kernels.subspan(begin, static_cast<std::size_t>(terms))) sum += std::abs(weight);
    most = std::max(most, sum);
  }
  return most;
}

// Returns a bound of the slope of an activation, at least 1. That of hard_swish is 1.5 below 3.
double slope_of(Activation activation) {
  const bool scales = activation.kind == ActivationKind::leaky_relu || activation.kind == ActivationKind::elu;
  if (scales) return std::max(1.0, std::abs(static_cast<double>(activation.alpha)));
  return may_fall(activation) ? 1.5 : 1.0;
}

// Returns the error after an activation: an error `before` of its argument, and its own rounding. `most` bounds the
// argument.
double through(Activation activation, double before, double most) {
  const double alpha = std::abs(static_cast<double>(activation.alpha));
  switch (activation.kind) {
    case ActivationKind::none:
    case ActivationKind::relu: return before;
    case ActivationKind::leaky_relu: return std::max(1.0, alpha) * before + eps * alpha * most;
    case ActivationKind::elu: return std::max(1.0, alpha) * before + 4.0 * eps * alpha;
    case ActivationKind::sigmoid: return before / 4.0 + 4.0 * eps;
    case ActivationKind::tanh: return before + 4.0 * eps;
    case ActivationKind::capped_relu: return before;
    case ActivationKind::softplus: return before + 6.0 * eps * std::max(1.0, most);
    case ActivationKind::silu:
    case ActivationKind::hard_swish:
    case ActivationKind::mish:
    case ActivationKind::gelu:
    case ActivationKind::gelu_tanh: return slope_of(activation) * before + 8.0 * eps * most;
  }
  return before;
}

// Largest absolute value of each input.
using Largest = std::span<const double>;

// Returns the largest value that the sum can take.
double max_of(const ConvProblem& conv, Largest inputs, const LayerWeights& weights) {
  const double residual = conv.residual ? inputs[1] : 0.0;
  return inputs[0] * kernel_norm(weights.kernels, terms_of(conv)) + largest_of(weights.bias) + residual;
}

double bound(const ConvProblem& conv, Largest inputs, const LayerWeights& weights) {
  const std::int64_t terms = terms_of(conv);
  const double bias = largest_of(weights.bias);
  const double most = max_of(conv, inputs, weights);
  const double steps =
      4.0 + std::sqrt(static_cast<double>(terms)) / 4.0 + 2.0 * std::log2(static_cast<double>(voxels(conv.in.n)));
  return through(conv.activation, eps * (steps * most + bias), most);
}

double bound(const PoolProblem& pool, Largest inputs, const LayerWeights&) {
  if (pool.kind == PoolKind::max) return 0.0;
  return eps * (2.0 + static_cast<double>(voxels(pool.window))) * inputs[0];
}

// Returns the bound of the convolution plus that of the pooling, which does not amplify errors.
double bound(const ConvPoolProblem& both, Largest inputs, const LayerWeights& weights) {
  const double between = slope_of(both.conv.activation) * std::max(1.0, max_of(both.conv, inputs, weights));
  return bound(both.conv, inputs, weights) + bound(both.pool, Largest(&between, 1), weights);
}

double bound(const ActivationProblem& problem, Largest inputs, const LayerWeights&) {
  return through(problem.activation, 0.0, inputs[0]);
}

// Returns the bound of what is made across channels. Each difference x - max of a softmax is rounded once, and exp()
// turns that into a relative error; then come f terms and a division. A log-softmax has the logarithm of such a sum,
// and is rounded itself. A norm is computed in float64; its largest value is the root of the number of channels.
double bound(const AcrossChannelsProblem& problem, Largest inputs, const LayerWeights&) {
  const auto f = static_cast<double>(problem.in.f);
  switch (problem.kind) {
    case AcrossKind::softmax: return eps * (8.0 + 4.0 * inputs[0] + f);
    case AcrossKind::log_softmax: return eps * (10.0 + 8.0 * inputs[0] + 2.0 * f);
    case AcrossKind::norm: return 2.0 * eps * std::sqrt(f);
    case AcrossKind::unit: return 2.0 * eps;
    case AcrossKind::arg_max:
    case AcrossKind::arg_max_last: break;
  }
  return 0.0;
}

// The largest error and the largest value behind some stages of a stack.
struct StackBound {
  double error;
  double most;

  void pass(const StackStage& stage, double scale, double shift) {
    if (stage.operation == StackOperation::scale_shift) {
      most = most * scale + shift;
      error = error * scale + 2.0 * eps * most;
    } else if (stage.operation == StackOperation::activation) {
      error = through(stage.activation, error, most);
      most = slope_of(stage.activation) * std::max(1.0, most);
    } else if (stage.kind == PoolKind::average) {
      error += eps * (2.0 + static_cast<double>(voxels(stage.window))) * most;
    }
  }
};

// Returns what is bounded behind all stages.
StackBound behind(const StackProblem& stack, StackBound bound, const LayerWeights& weights) {
  const auto f = static_cast<std::size_t>(stack.in.f);
  std::size_t first = 0;
  for (const StackStage& stage : stack.stages) {
    const bool scales = stage.operation == StackOperation::scale_shift;
    bound.pass(stage, scales ? largest_of(weights.scale.subspan(first, f)) : 1.0,
               scales ? largest_of(weights.shift.subspan(first, f)) : 0.0);
    first += scales ? f : 0;
  }
  return bound;
}

double bound(const StackProblem& stack, Largest inputs, const LayerWeights& weights) {
  return behind(stack, {0.0, inputs[0]}, weights).error;
}

double bound(const ScaleShiftProblem&, Largest inputs, const LayerWeights& weights) {
  return 2.0 * eps * (inputs[0] * largest_of(weights.scale) + largest_of(weights.shift));
}

// Returns the steepest slope of a rectifier, above 0 or below.
double steepest_of(const PReluProblem&, const LayerWeights& weights) {
  return std::max(1.0, largest_of(weights.scale));
}

double bound(const PReluProblem&, Largest inputs, const LayerWeights& weights) {
  return eps * inputs[0] * largest_of(weights.scale);
}

// Returns the bound where the smallest deviation of a group, epsilon counted, is `deviation`. A mean, a difference, a
// quotient that is the same for all voxels, a product and a sum are rounded; the deviation's own error is relative.
double norm_bound(const NormProblem& problem, double most, double deviation, const LayerWeights& weights) {
  const double scaled = 2.0 * most / deviation * largest_of(weights.scale);
  const double shift = largest_of(weights.shift);
  return through(problem.activation, eps * (8.0 * scaled + 2.0 * shift), scaled + shift);
}

// Returns the bound of a response normalisation. A channel's length is at most that of its group, so a factor is at
// most the number of its channels.
double response_bound(const NormProblem& problem, double most, const LayerWeights& weights) {
  const double scaled = most * static_cast<double>(problem.in.f / problem.groups) * largest_of(weights.scale);
  const double shift = largest_of(weights.shift);
  return through(problem.activation, eps * (4.0 * scaled + 2.0 * shift), scaled + shift);
}

double bound(const NormProblem& problem, Largest inputs, const LayerWeights& weights) {
  if (problem.kind == NormKind::response) return response_bound(problem, inputs[0], weights);
  return norm_bound(problem, inputs[0], std::sqrt(static_cast<double>(problem.epsilon)), weights);
}

// Returns the smallest deviation of a group's voxels, epsilon counted.
double min_deviation(const NormProblem& problem, const Values& values) {
  const std::int64_t count = problem.in.f / problem.groups * voxels(problem.in.n);
  double least = std::numeric_limits<double>::infinity();
  for (auto first = values.begin(); first != values.end(); first += count) {
    const double mean = std::accumulate(first, first + count, 0.0) / static_cast<double>(count);
    const double squares = std::accumulate(
        first, first + count, 0.0, [&](double sum, double value) { return sum + (value - mean) * (value - mean); });
    least = std::min(least, squares / static_cast<double>(count));
  }
  return std::sqrt(least + static_cast<double>(problem.epsilon));
}

// Bounds the error: a mean is rounded once, if its sum is a double.
double bound(const GlobalPoolProblem& pool, Largest inputs, const LayerWeights&) {
  return pool.kind == PoolKind::max ? 0.0 : 2.0 * eps * inputs[0];
}

double sum_of(Largest inputs) { return std::accumulate(inputs.begin(), inputs.end(), 0.0); }

double bound(const AddProblem& problem, Largest inputs, const LayerWeights&) {
  const double most = sum_of(inputs);
  return through(problem.activation, eps * problem.inputs * most, most);
}

// Returns the bound of attention. Scores are sums of products, and their errors are relative errors of exponentials; so
// are those of a sum of shares. Sums of values, weighted by shares that add up to 1, are no larger than the values.
double bound(const AttentionProblem& problem, Largest inputs, const LayerWeights&) {
  const auto terms = static_cast<double>(problem.in.f / problem.heads);
  const double scores = std::abs(static_cast<double>(problem.scale)) * terms * inputs[0] * inputs[1];
  const auto tokens = static_cast<double>(voxels(problem.in.n));
  return eps * inputs[2] * (16.0 + 4.0 * scores * std::sqrt(terms) + 2.0 * std::sqrt(tokens));
}

double bound(const AddVolumeProblem&, Largest inputs, const LayerWeights& weights) {
  return eps * (inputs[0] + largest_of(weights.shift));
}

double bound(const MultiplyProblem&, Largest inputs, const LayerWeights&) { return eps * inputs[0] * inputs[1]; }
double bound(const DivideProblem&, Largest inputs, const LayerWeights&) { return eps * inputs[0] * inputs[1]; }

double bound(const ConcatProblem&, Largest, const LayerWeights&) { return 0.0; }
double bound(const CropProblem&, Largest, const LayerWeights&) { return 0.0; }
// Bounds the error. Along each axis a difference, a share of it and a sum are rounded, and so is the share.
double bound(const UpsampleProblem& problem, Largest inputs, const LayerWeights&) {
  const bool interpolates = problem.kind == UpsampleKind::linear || problem.kind == UpsampleKind::aligned;
  return interpolates ? 18.0 * eps * inputs[0] : 0.0;
}
double bound(const ReorderProblem&, Largest, const LayerWeights&) { return 0.0; }

// Returns the largest value in a layer before its activation.
double max_of(const LayerProblem& problem, Largest inputs, const LayerWeights& weights) {
  return std::visit(Overloaded{[&](const ConvProblem& conv) { return max_of(conv, inputs, weights); },
                               [&](const ConvPoolProblem& both) { return max_of(both.conv, inputs, weights); },
                               [&](const OneOf<MultiplyProblem, DivideProblem> auto&) { return inputs[0] * inputs[1]; },
                               [&](const ScaleShiftProblem&) {
                                 return largest_of(weights.shift) + largest_of(weights.scale) * sum_of(inputs);
                               },
                               [&](const PReluProblem& own) { return steepest_of(own, weights) * inputs[0]; },
                               [&](const StackProblem& own) {
                                 return behind(own, {0.0, inputs[0]}, weights).most;
                               },
                               [&](const OneOf<PoolProblem, ActivationProblem, AcrossChannelsProblem, AddProblem,
                                               ConcatProblem, ReorderProblem, CropProblem, UpsampleProblem, NormProblem,
                                               GlobalPoolProblem, AttentionProblem, AddVolumeProblem> auto&) {
                                 return largest_of(weights.shift) + sum_of(inputs);
                               }},
                    problem);
}

double slope_of(const LayerProblem& problem) {
  return std::visit(
      Overloaded{
          [](const OneOf<ConvProblem, ActivationProblem, AddProblem, NormProblem> auto& own) {
            return slope_of(own.activation);
          },
          [](const ConvPoolProblem& both) { return slope_of(both.conv.activation); },
          [](const OneOf<PoolProblem, AcrossChannelsProblem, ScaleShiftProblem, ConcatProblem, ReorderProblem,
                         CropProblem, UpsampleProblem, MultiplyProblem, GlobalPoolProblem, PReluProblem,
                         AttentionProblem, AddVolumeProblem, DivideProblem, StackProblem> auto&) { return 1.0; }},
      problem);
}

}  // namespace

double tolerance_within(const LayerProblem& problem, std::span<const double> largest, const LayerWeights& weights) {
  return std::visit([&](const auto& one) { return bound(one, largest, weights); }, problem);
}

Values sized(const LayerProblem& problem, std::size_t input, const Values& values) {
  if (input == 0 || !std::holds_alternative<DivideProblem>(problem)) return values;
  Values reciprocals;
  for (const double value : values) reciprocals.push_back(1.0 / value);
  return reciprocals;
}

double tolerance(const LayerProblem& problem, std::span<const Values> inputs, const LayerWeights& weights,
                 Precision precision) {
  std::vector<double> most;
  for (std::size_t i = 0; i < inputs.size(); ++i) most.push_back(largest_of(sized(problem, i, inputs[i])));
  const auto* norm = std::get_if<NormProblem>(&problem);
  const bool by_deviation = norm != nullptr && norm->kind == NormKind::deviation;
  const double strict = !by_deviation ? tolerance_within(problem, most, weights)
                                      : norm_bound(*norm, most[0], min_deviation(*norm, inputs[0]), weights);
  if (precision == Precision::fp32) return strict;
  const double unit = precision == Precision::tf32 ? 0x1p-10 : 0x1p-8;
  return strict + unit * (1.0 + 5.0 * slope_of(problem) * max_of(problem, most, weights));
}

namespace {

// Returns what an operation over channels makes of an error of its input. The derivatives of a log-softmax sum to 2 at
// most, those of a normalised channel to 2 + its value, over the deviation.
double carried_across(const AcrossChannelsProblem& problem, double error) {
  ensure(!makes_one_channel(problem.kind), "the number of a channel changes by whole steps");
  if (problem.kind == AcrossKind::softmax) return error;
  if (problem.kind == AcrossKind::log_softmax) return 2.0 * error;
  if (problem.kind == AcrossKind::unit) return 2.0 / static_cast<double>(problem.epsilon) * error;
  return (2.0 + std::sqrt(static_cast<double>(problem.in.f))) / std::sqrt(static_cast<double>(problem.epsilon)) * error;
}

using Errors = std::span<const double>;

double largest_error(Errors errors) { return *std::max_element(errors.begin(), errors.end()); }

double carried_by(const ConvProblem& conv, Errors errors, const LayerWeights& weights) {
  const double residual = conv.residual ? errors[1] : 0.0;
  return slope_of(conv.activation) * (errors[0] * kernel_norm(weights.kernels, terms_of(conv)) + residual);
}

// Bounds the error that is carried. The derivatives of a normalised voxel y sum to 2 + |y| at most, over the deviation,
// and y to the root of their number.
double carried_by(const NormProblem& norm, Errors errors, const LayerWeights& weights) {
  ensure(norm.kind == NormKind::deviation, "what a response normalisation carries depends on its inputs");
  const auto count = static_cast<double>(norm.in.f / norm.groups * voxels(norm.in.n));
  const double steepest = largest_of(weights.scale) / std::sqrt(static_cast<double>(norm.epsilon));
  return slope_of(norm.activation) * (2.0 + std::sqrt(count)) * steepest * errors[0];
}

}  // namespace

double carried(const LayerProblem& problem, std::span<const double> errors, const LayerWeights& weights) {
  return std::visit(
      Overloaded{[&](const OneOf<ConvProblem, NormProblem> auto& own) { return carried_by(own, errors, weights); },
                 [&](const ConvPoolProblem& both) { return carried_by(both.conv, errors, weights); },
                 [&](const AcrossChannelsProblem& across) { return carried_across(across, errors[0]); },
                 [&](const AddProblem& sum) { return slope_of(sum.activation) * sum_of(errors); },
                 [&](const ScaleShiftProblem&) { return largest_of(weights.scale) * largest_error(errors); },
                 [&](const PReluProblem& own) { return steepest_of(own, weights) * largest_error(errors); },
                 [&](const StackProblem& own) {
                   return behind(own, {largest_error(errors), 0.0}, weights).error;
                 },
                 [&](const ActivationProblem& own) { return slope_of(own.activation) * largest_error(errors); },
                 [](const OneOf<MultiplyProblem, DivideProblem> auto&) {
                   ensure(false, "what a product or a quotient carries depends on its inputs");
                   return 0.0;
                 },
                 [](const AttentionProblem&) {
                   ensure(false, "what attention carries depends on its inputs");
                   return 0.0;
                 },
                 [&](const OneOf<PoolProblem, ConcatProblem, ReorderProblem, CropProblem, UpsampleProblem,
                                 GlobalPoolProblem, AddVolumeProblem> auto&) { return largest_error(errors); }},
      problem);
}

void Walk::add(std::int64_t layers, std::span<const float> found, const Values& exact) {
  for (std::size_t i = 0; i < exact.size(); ++i) {
    off_ += std::pow(static_cast<double>(found[i]) - exact[i], 2) / (2.0 * static_cast<double>(layers));
    all_ += exact[i] * exact[i];
  }
}

double Walk::unit() const { return std::sqrt(off_ / all_); }

}  // namespace znni::oracle
