#include "tests/oracle/tolerance.hpp"

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

double largest(std::span<const float> values) { return largest(widened(values)); }

// Largest sum of absolute kernel values over the output images.
double kernel_norm(std::span<const float> kernels, std::int64_t terms) {
  double most = 0.0;
  for (std::size_t begin = 0; begin < kernels.size(); begin += static_cast<std::size_t>(terms)) {
    double sum = 0.0;
    for (const float weight : kernels.subspan(begin, static_cast<std::size_t>(terms))) sum += std::abs(weight);
    most = std::max(most, sum);
  }
  return most;
}

// An error `before` of the argument and the activation's own rounding; `most` bounds the argument.
double through(Activation activation, double before, double most) {
  const double alpha = std::abs(static_cast<double>(activation.alpha));
  switch (activation.kind) {
    case ActivationKind::none:
    case ActivationKind::relu: return before;
    case ActivationKind::leaky_relu: return std::max(1.0, alpha) * before + eps * alpha * most;
    case ActivationKind::elu: return std::max(1.0, alpha) * before + 4.0 * eps * alpha;
    case ActivationKind::sigmoid: return before / 4.0 + 4.0 * eps;
    case ActivationKind::tanh: return before + 4.0 * eps;
  }
  return before;
}

std::int64_t terms_of(const ConvProblem& conv) { return conv.in.f * voxels(conv.k); }

// The largest value that the sum can take.
double most_of(const ConvProblem& conv, std::span<const Values> inputs, const LayerWeights& weights) {
  const double residual = conv.residual ? largest(inputs[1]) : 0.0;
  return largest(inputs[0]) * kernel_norm(weights.kernels, terms_of(conv)) + largest(weights.bias) + residual;
}

double bound(const ConvProblem& conv, std::span<const Values> inputs, const LayerWeights& weights) {
  const std::int64_t terms = terms_of(conv);
  const double bias = largest(weights.bias);
  const double most = most_of(conv, inputs, weights);
  const double steps =
      4.0 + std::sqrt(static_cast<double>(terms)) / 4.0 + 2.0 * std::log2(static_cast<double>(voxels(conv.in.n)));
  return through(conv.activation, eps * (steps * most + bias), most);
}

double bound(const PoolProblem& pool, std::span<const Values> inputs, const LayerWeights&) {
  if (pool.kind == PoolKind::max) return 0.0;
  return eps * (2.0 + static_cast<double>(voxels(pool.window))) * largest(inputs[0]);
}

// A pooling spreads no error of what it reads.
double bound(const ConvPoolProblem& both, std::span<const Values> inputs, const LayerWeights& weights) {
  const Values between = oracle_run(both.conv, inputs, weights);
  return bound(both.conv, inputs, weights) + bound(both.pool, std::span(&between, 1), weights);
}

double bound(const ActivationProblem& problem, std::span<const Values> inputs, const LayerWeights&) {
  return through(problem.activation, 0.0, largest(inputs[0]));
}

// Differences x - max are rounded once, which exp() turns into a relative error; then f terms and a division.
double bound(const SoftmaxProblem& problem, std::span<const Values> inputs, const LayerWeights&) {
  return eps * (8.0 + 4.0 * largest(inputs[0]) + static_cast<double>(problem.in.f));
}

double bound(const ScaleShiftProblem&, std::span<const Values> inputs, const LayerWeights& weights) {
  return 2.0 * eps * (largest(inputs[0]) * largest(weights.scale) + largest(weights.shift));
}

double bound(const AddProblem& problem, std::span<const Values> inputs, const LayerWeights&) {
  double most = 0.0;
  for (const Values& input : inputs) most += largest(input);
  return through(problem.activation, eps * problem.inputs * most, most);
}

double bound(const ConcatProblem&, std::span<const Values>, const LayerWeights&) { return 0.0; }
double bound(const CropProblem&, std::span<const Values>, const LayerWeights&) { return 0.0; }
double bound(const ReorderProblem&, std::span<const Values>, const LayerWeights&) { return 0.0; }

// The largest value in a layer before its activation.
double most_of(const LayerProblem& problem, std::span<const Values> inputs, const LayerWeights& weights) {
  if (const ConvProblem* conv = convolution_of(problem)) return most_of(*conv, inputs, weights);
  double most = largest(weights.shift);
  const double scale = std::holds_alternative<ScaleShiftProblem>(problem) ? largest(weights.scale) : 1.0;
  for (const Values& input : inputs) most += scale * largest(input);
  return most;
}

double slope_of(const LayerProblem& problem) {
  Activation activation;
  if (const ConvProblem* conv = convolution_of(problem)) activation = conv->activation;
  if (const auto* sum = std::get_if<AddProblem>(&problem)) activation = sum->activation;
  if (const auto* own = std::get_if<ActivationProblem>(&problem)) activation = own->activation;
  const bool steep = activation.kind == ActivationKind::leaky_relu || activation.kind == ActivationKind::elu;
  return steep ? std::max(1.0, std::abs(static_cast<double>(activation.alpha))) : 1.0;
}

}  // namespace

double tolerance(const LayerProblem& problem, std::span<const Values> inputs, const LayerWeights& weights,
                 Precision precision) {
  const double strict = std::visit([&](const auto& one) { return bound(one, inputs, weights); }, problem);
  if (precision == Precision::fp32) return strict;
  const double unit = precision == Precision::tf32 ? 0x1p-10 : 0x1p-8;
  return strict + unit * (1.0 + 5.0 * slope_of(problem) * most_of(problem, inputs, weights));
}

void Walk::add(std::int64_t layers, std::span<const float> found, const Values& exact) {
  for (std::size_t i = 0; i < exact.size(); ++i) {
    off_ += std::pow(static_cast<double>(found[i]) - exact[i], 2) / (2.0 * static_cast<double>(layers));
    all_ += exact[i] * exact[i];
  }
}

double Walk::unit() const { return std::sqrt(off_ / all_); }

}  // namespace znni::oracle
