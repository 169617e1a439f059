#include "tests/oracle/norms.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace znni::oracle {
namespace {

Values by_deviation(const NormProblem& problem, Values out, const LayerWeights& weights) {
  const std::int64_t of_channel = voxels(problem.in.n);
  const std::int64_t channels = problem.in.f / problem.groups;
  for (std::int64_t group = 0; group < problem.in.S * problem.groups; ++group) {
    double* const values = out.data() + group * channels * of_channel;
    const auto [mean, deviation] = moments(values, channels * of_channel, static_cast<double>(problem.epsilon));
    for (std::int64_t i = 0; i < channels * of_channel; ++i) {
      const auto channel = static_cast<std::size_t>(group % problem.groups * channels + i / of_channel);
      values[i] = weights.scale[channel] * (values[i] - mean) / deviation + weights.shift[channel];
    }
  }
  return out;
}

// Returns what a global response normalisation makes of one input, and the scales and shifts of its channels.
Values by_response(const NormProblem& problem, Values out, const LayerWeights& weights) {
  const auto count = static_cast<std::size_t>(voxels(problem.in.n));
  const auto channels = static_cast<std::size_t>(problem.in.f / problem.groups);
  std::vector<double> lengths(out.size() / count, 0.0);
  for (std::size_t i = 0; i < out.size(); ++i) lengths[i / count] += out[i] * out[i];
  for (double& length : lengths) length = std::sqrt(length);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t row = i / count;
    const auto group = lengths.begin() + static_cast<std::ptrdiff_t>(row / channels * channels);
    const double mean =
        std::accumulate(group, group + static_cast<std::ptrdiff_t>(channels), 0.0) / static_cast<double>(channels);
    const std::size_t channel = row % static_cast<std::size_t>(problem.in.f);
    const double factor = lengths[row] / (mean + static_cast<double>(problem.epsilon));
    out[i] = weights.scale[channel] * factor * out[i] + weights.shift[channel];
  }
  return out;
}

// One head: [channels][tokens].
struct AttendedHead {
  const double* queries;
  const double* keys;
  std::int64_t tokens;
  std::int64_t channels;

  [[nodiscard]] Values shares(std::int64_t v, double scale) const {
    Values own(static_cast<std::size_t>(tokens), 0.0);
    for (std::int64_t u = 0; u < tokens; ++u) {
      double& score = own[static_cast<std::size_t>(u)];
      for (std::int64_t c = 0; c < channels; ++c) score += queries[c * tokens + v] * keys[c * tokens + u];
      score *= scale;
    }
    const double most = *std::max_element(own.begin(), own.end());
    double sum = 0;
    for (double& score : own) sum += score = std::exp(score - most);
    for (double& score : own) score /= sum;
    return own;
  }
};

}  // namespace

Values attended(const AttentionProblem& problem, std::span<const Values> inputs) {
  const std::int64_t tokens = voxels(problem.in.n);
  const std::int64_t channels = problem.in.f / problem.heads;
  const std::int64_t made = problem.f_out / problem.heads;
  Values out;
  for (std::int64_t head = 0; head < problem.in.S * problem.heads; ++head) {
    const double* const values = inputs[2].data() + head * made * tokens;
    const std::int64_t first = head * channels * tokens;
    const AttendedHead own{inputs[0].data() + first, inputs[1].data() + first, tokens, channels};
    out.resize(out.size() + static_cast<std::size_t>(made * tokens));
    double* const to = out.data() + head * made * tokens;
    for (std::int64_t v = 0; v < tokens; ++v) {
      const Values shares = own.shares(v, static_cast<double>(problem.scale));
      for (std::int64_t c = 0; c < made; ++c) {
        to[c * tokens + v] = std::inner_product(shares.begin(), shares.end(), values + c * tokens, 0.0);
      }
    }
  }
  return out;
}

std::pair<double, double> moments(const double* values, std::int64_t count, double epsilon) {
  double mean = 0;
  for (std::int64_t i = 0; i < count; ++i) mean += values[i] / static_cast<double>(count);
  double variance = 0;
  for (std::int64_t i = 0; i < count; ++i) variance += std::pow(values[i] - mean, 2) / static_cast<double>(count);
  return {mean, std::sqrt(variance + epsilon)};
}

Values normalised(const NormProblem& problem, const Values& in, const LayerWeights& weights) {
  return problem.kind == NormKind::response ? by_response(problem, in, weights) : by_deviation(problem, in, weights);
}

}  // namespace znni::oracle
