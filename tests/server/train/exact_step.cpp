#include "tests/server/train/exact_step.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "primitives/core/index.hpp"
#include "tests/planner/dense_net.hpp"

namespace znni::test {
namespace {

using oracle::Values;

double rms(const Values& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum / static_cast<double>(values.size())) + 1e-30;
}

Activation activation_of(const LayerProblem& layer) {
  if (const auto* conv = std::get_if<ConvProblem>(&layer)) return conv->activation;
  if (const auto* sum = std::get_if<AddProblem>(&layer)) return sum->activation;
  if (const auto* own = std::get_if<ActivationProblem>(&layer)) return own->activation;
  return {};
}

LayerProblem without_activation(LayerProblem layer) {
  if (auto* conv = std::get_if<ConvProblem>(&layer)) conv->activation = {};
  if (auto* sum = std::get_if<AddProblem>(&layer)) sum->activation = {};
  return layer;
}

// Returns where the activation's slope jumps.
std::vector<double> kinks(Activation activation) {
  switch (activation.kind) {
    case ActivationKind::relu:
    case ActivationKind::leaky_relu:
    case ActivationKind::elu: return {0.0};
    case ActivationKind::capped_relu: return {0.0, static_cast<double>(activation.alpha)};
    case ActivationKind::hard_swish: return {-3.0, 3.0};
    default: return {};
  }
}

double margin_of_kinks(const LayerProblem& layer, std::span<const Values> inputs, const LayerWeights& weights) {
  const std::vector<double> all = kinks(activation_of(layer));
  if (all.empty()) return 1.0;
  const bool own = std::holds_alternative<ActivationProblem>(layer);
  const Values before = own ? inputs[0] : oracle::oracle_run(without_activation(layer), inputs, weights);
  const double scale = rms(before);
  double least = 1.0;
  for (const double value : before) {
    for (const double kink : all) least = std::min(least, std::abs(value - kink) / scale);
  }
  return least;
}

// Returns the least difference between the largest two values of any window, at any offset; equal ones that an
// activation made the same do not count.
double margin_of_windows(const PoolProblem& pool, const Values& in) {
  const Vec3 n = pool.in.n;
  const double scale = rms(in);
  double least = 1.0;
  for (std::int64_t channel = 0; channel < pool.in.S * pool.in.f; ++channel) {
    const Vec3 places = n - spanned(pool) + Vec3::cube(1);
    for (std::int64_t at = 0; at < voxels(places); ++at) {
      const Vec3 v{at / (places.y * places.x), at / places.x % places.y, at % places.x};
      double first = -std::numeric_limits<double>::infinity();
      double second = first;
      for (std::int64_t d = 0; d < voxels(pool.window); ++d) {
        const Vec3 at_d{d / (pool.window.y * pool.window.x), d / pool.window.x % pool.window.y, d % pool.window.x};
        const Vec3 w = v + at_d * pool.dilation;
        const double value = in[static_cast<std::size_t>(((channel * n.z + w.z) * n.y + w.y) * n.x + w.x)];
        second = std::max(second, std::min(first, value));
        first = std::max(first, value);
      }
      if (first != second) least = std::min(least, (first - second) / scale);
    }
  }
  return least;
}

// Places of the fragments' voxels in the dense output, in the order of the fragments.
std::vector<std::size_t> dense_places(const Geometry& geometry, bool dense) {
  std::vector<std::size_t> places;
  const Shape5 out = geometry.values.back();
  const Vec3 n = dense ? geometry.patch_output : out.n;
  for (std::int64_t s = 0; s < out.S; ++s) {
    for (std::int64_t j = 0; j < out.f; ++j) {
      for (std::int64_t i = 0; i < voxels(out.n); ++i) {
        const Vec3 v{i / (out.n.y * out.n.x), i / out.n.x % out.n.y, i % out.n.x};
        const Vec3 at = dense ? dense_position(geometry, 0, s, v) : v;
        places.push_back(static_cast<std::size_t>(((j * n.z + at.z) * n.y + at.y) * n.x + at.x));
      }
    }
  }
  return places;
}

void add_to(Values& sum, const Values& more) {
  if (sum.empty()) sum.assign(more.size(), 0.0);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
}

}  // namespace

ExactStep exact_step(const Network& network, const Geometry& geometry, const NetworkWeights& weights,
                     std::span<const float> input, std::span<const float> target) {
  ExactStep step;
  step.margin = 1.0;
  std::vector<Values> values = {oracle::widened(input)};
  std::vector<std::vector<Values>> inputs;
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    const LayerProblem& problem = geometry.problems[i];
    inputs.emplace_back();
    for (const int value : network.nodes[i].inputs) inputs.back().push_back(values[index(value)]);
    step.margin = std::min(step.margin, margin_of_kinks(problem, inputs.back(), weights[i].view()));
    const auto* pool = std::get_if<PoolProblem>(&problem);
    if (pool != nullptr && pool->kind == PoolKind::max) {
      step.margin = std::min(step.margin, margin_of_windows(*pool, inputs.back()[0]));
    }
    values.push_back(oracle::oracle_run(problem, inputs.back(), weights[i].view()));
  }
  const std::vector<std::size_t> places = dense_places(geometry, geometry.values.back().S > 1);
  std::vector<Values> gradients(values.size());
  step.output.resize(values.back().size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const double error = values.back()[i] - static_cast<double>(target[places[i]]);
    step.output[places[i]] = values.back()[i];
    gradients.back().push_back(error);
    step.loss += 0.5 * error * error;
  }
  step.gradients.resize(network.nodes.size());
  for (std::size_t i = network.nodes.size(); i-- > 0;) {
    oracle::Gradients own = oracle::gradients(geometry.problems[i], inputs[i], weights[i].view(), gradients[i + 1]);
    for (std::size_t k = 0; k < own.inputs.size(); ++k) {
      add_to(gradients[index(network.nodes[i].inputs[k])], own.inputs[k]);
    }
    own.inputs.clear();
    step.gradients[i] = std::move(own);
  }
  return step;
}

double squared_error(std::span<const float> output, std::span<const float> target, std::span<float> gradient) {
  double sum = 0;
  for (std::size_t i = 0; i < output.size(); ++i) {
    gradient[i] = output[i] - target[i];
    sum += 0.5 * static_cast<double>(gradient[i]) * static_cast<double>(gradient[i]);
  }
  return sum;
}

Vec3 random_patch(const Network& network, bool sparse, Random& random, std::int64_t more) {
  const PoolMode mode = sparse ? PoolMode::plain : PoolMode::fragments;
  const std::vector<PoolingMode> modes(pooling_nodes(network).size(), PoolingMode(mode));
  return random_extent(network, modes, random, more + 1);
}

}  // namespace znni::test
