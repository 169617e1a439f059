#include "tests/oracle/gradient_tolerance.hpp"

#include <algorithm>
#include <cmath>

namespace znni::oracle {
namespace {

constexpr double eps = 0x1p-24;

double largest(const Values& values) {
  double most = 0.0;
  for (const double value : values) most = std::max(most, std::abs(value));
  return most;
}

// Returns the largest norm of a channel, over all inputs of the batch.
double largest_norm(const Values& values, const Shape5& shape) {
  const auto f = static_cast<std::size_t>(shape.f);
  const auto count = static_cast<std::size_t>(voxels(shape.n));
  std::vector<double> squares(f, 0.0);
  for (std::size_t i = 0; i < values.size(); ++i) squares[i / count % f] += values[i] * values[i];
  return std::sqrt(*std::max_element(squares.begin(), squares.end()));
}

// Returns the largest sum of absolute kernel values over the input channels.
double transposed_norm(const ConvProblem& conv, std::span<const float> kernels) {
  const std::int64_t taps = voxels(conv.k);
  const std::int64_t f = conv.in.f / conv.groups;
  std::vector<double> sums(static_cast<std::size_t>(conv.in.f), 0.0);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(kernels.size()); ++i) {
    const std::int64_t j = i / taps / f;
    const std::int64_t channel = j / (conv.f_out / conv.groups) * f + i / taps % f;
    sums[static_cast<std::size_t>(channel)] += std::abs(kernels[static_cast<std::size_t>(i)]);
  }
  return *std::max_element(sums.begin(), sums.end());
}

GradientTolerance bound(const ConvProblem& conv, std::span<const Values> inputs, const LayerWeights& weights,
                        const Values& output) {
  const auto terms = static_cast<double>(conv.f_out / conv.groups * voxels(conv.k));
  const double spread = 2.0 * std::log2(static_cast<double>(voxels(conv.in.n)));
  const Shape5 out = output_shape(conv);
  const double norm = largest_norm(output, out);
  const double sums = eps * (4.0 + spread) * norm;
  return {eps * (4.0 + std::sqrt(terms) / 4.0 + spread) * largest(output) * transposed_norm(conv, weights.kernels),
          sums * largest_norm(inputs[0], conv.in), sums * std::sqrt(static_cast<double>(out.S * voxels(out.n)))};
}

// Bounds the gradients. A voxel of a max pooling sums as many gradients as windows hold it, and so may that of an
// average of what lies inside, at a corner; those of another average weigh 1 together.
GradientTolerance bound(const PoolProblem& pool, std::span<const Values>, const LayerWeights&, const Values& output) {
  const auto windows = static_cast<double>(voxels(pool.window));
  const double sums = pool.kind == PoolKind::average ? 1.0 : windows;
  return {eps * (2.0 + windows) * sums * largest(output), 0.0, 0.0};
}

// Bounds the gradients. A slope is at most 1.5, or alpha; it and the saved value are rounded.
GradientTolerance bound(const ActivationProblem& problem, std::span<const Values>, const LayerWeights&,
                        const Values& output) {
  if (problem.activation.kind == ActivationKind::none) return {};
  return {4.0 * eps * std::max(1.5, std::abs(static_cast<double>(problem.activation.alpha))) * largest(output), 0.0,
          0.0};
}

// Bounds the gradients. A softmax sums f products, its logarithm f gradients, whose sum may be f times the largest.
GradientTolerance bound(const AcrossChannelsProblem& problem, std::span<const Values> inputs, const LayerWeights&,
                        const Values& output) {
  const auto f = static_cast<double>(problem.in.f);
  const bool is_log = problem.kind == AcrossKind::log_softmax;
  const double power = is_log ? f * (4.0 + f + 2.0 * largest(inputs[0])) : 0.0;
  return {eps * (8.0 + 2.0 * f + power) * largest(output), 0.0, 0.0};
}

// Bounds the gradients. The slopes' are summed in float64.
GradientTolerance bound(const PReluProblem& problem, std::span<const Values> inputs, const LayerWeights& weights,
                        const Values& output) {
  double steepest = 1.0;
  for (const float slope : weights.scale) steepest = std::max(steepest, std::abs(static_cast<double>(slope)));
  const double sums = largest_norm(output, problem.in) * largest_norm(inputs[0], problem.in);
  return {2.0 * eps * steepest * largest(output), 0.0, 0.0, 2.0 * eps * sums};
}

// Bounds the gradients. Those of scales and shifts are summed in float64.
GradientTolerance bound(const ScaleShiftProblem& problem, std::span<const Values> inputs, const LayerWeights& weights,
                        const Values& output) {
  double most = 0.0;
  for (const float scale : weights.scale) most = std::max(most, std::abs(static_cast<double>(scale)));
  const double norm = largest_norm(output, problem.in);
  const double count = std::sqrt(static_cast<double>(problem.in.S * voxels(problem.in.n)));
  return {2.0 * eps * most * largest(output), 0.0, 2.0 * eps * norm * count,
          2.0 * eps * norm * largest_norm(inputs[0], problem.in)};
}

// Bounds the gradients. That of a factor of one channel sums as many products as there are channels.
GradientTolerance bound(const MultiplyProblem& product, std::span<const Values> inputs, const LayerWeights&,
                        const Values& output) {
  const auto summed = static_cast<double>(product.in.f / product.f_other);
  const double factor = std::max(largest(inputs[0]), largest(inputs[1]));
  return {eps * (1.0 + summed) * summed * factor * largest(output), 0.0, 0.0};
}

// Bounds the gradients. That of a divisor sums products with the quotients, which are rounded, too, and divides the
// sum.
GradientTolerance bound(const DivideProblem& quotient, std::span<const Values> inputs, const LayerWeights&,
                        const Values& output) {
  const auto summed = static_cast<double>(quotient.in.f / quotient.f_other);
  double steepest = 0.0;
  for (const double divisor : inputs[1]) steepest = std::max(steepest, 1.0 / std::abs(divisor));
  const double largest_quotient = steepest * largest(inputs[0]);
  return {eps * (3.0 + summed) * summed * std::max(1.0, largest_quotient) * steepest * largest(output), 0.0, 0.0};
}

// Bounds the gradients. The shares of the readers of a voxel add up to the voxels that are made of one.
GradientTolerance bound(const UpsampleProblem& upsample, std::span<const Values>, const LayerWeights&,
                        const Values& output) {
  if (upsample.kind == UpsampleKind::shuffle) return {};
  const auto made = static_cast<double>(voxels(upsample.factor));
  const auto rows = static_cast<double>(4 * upsample.factor.z * upsample.factor.y + 2 * upsample.factor.x);
  return {eps * (4.0 + rows) * made * largest(output), 0.0, 0.0};
}

// Returns no error, because what is moved is not rounded.
template <class Problem>
GradientTolerance bound(const Problem&, std::span<const Values>, const LayerWeights&, const Values&) {
  return {};
}

}  // namespace

GradientTolerance gradient_tolerance(const LayerProblem& problem, std::span<const Values> inputs,
                                     const LayerWeights& weights, const Values& output) {
  return std::visit([&](const auto& one) { return bound(one, inputs, weights, output); }, problem);
}

}  // namespace znni::oracle
