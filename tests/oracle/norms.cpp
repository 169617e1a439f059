#include "tests/oracle/norms.hpp"

#include <cmath>
#include <numeric>
#include <vector>

namespace znni::oracle {
namespace {

Values by_deviation(const NormProblem& problem, Values out, const LayerWeights& weights) {
  const std::int64_t of_image = voxels(problem.in.n);
  const std::int64_t images = problem.in.f / problem.groups;
  for (std::int64_t group = 0; group < problem.in.S * problem.groups; ++group) {
    double* const values = out.data() + group * images * of_image;
    const auto [mean, deviation] = moments(values, images * of_image, static_cast<double>(problem.epsilon));
    for (std::int64_t i = 0; i < images * of_image; ++i) {
      const auto image = static_cast<std::size_t>(group % problem.groups * images + i / of_image);
      values[i] = weights.scale[image] * (values[i] - mean) / deviation + weights.shift[image];
    }
  }
  return out;
}

// Returns what a global response normalisation makes of one input, and the scales and shifts of its channels.
Values by_response(const NormProblem& problem, Values out, const LayerWeights& weights) {
  const auto count = static_cast<std::size_t>(voxels(problem.in.n));
  const auto images = static_cast<std::size_t>(problem.in.f / problem.groups);
  std::vector<double> lengths(out.size() / count, 0.0);
  for (std::size_t i = 0; i < out.size(); ++i) lengths[i / count] += out[i] * out[i];
  for (double& length : lengths) length = std::sqrt(length);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t image = i / count;
    const auto group = lengths.begin() + static_cast<std::ptrdiff_t>(image / images * images);
    const double mean = std::accumulate(group, group + static_cast<std::ptrdiff_t>(images), 0.0) /
                        static_cast<double>(images);
    const std::size_t channel = image % static_cast<std::size_t>(problem.in.f);
    const double factor = lengths[image] / (mean + static_cast<double>(problem.epsilon));
    out[i] = weights.scale[channel] * factor * out[i] + weights.shift[channel];
  }
  return out;
}

}  // namespace

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
