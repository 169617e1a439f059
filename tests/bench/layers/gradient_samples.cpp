#include "tests/bench/layers/gradient_samples.hpp"

namespace znni::bench {
namespace {

bool is_inside(Vec3 at, Vec3 n) { return covers(at, {}) && covers(n - Vec3::cube(1), at); }

// The gradient of kernel element [S][f][n].
double exact_of_weights(const ConvProblem& conv, const Place& place) {
  const Shape5 output = output_shape(LayerProblem(conv));
  double sum = 0;
  for (std::int64_t s = 0; s < output.S; ++s) {
    for (std::int64_t at = 0; at < voxels(output.n); ++at) {
      const Vec3 n{at / (output.n.y * output.n.x), at / output.n.x % output.n.y, at % output.n.x};
      sum += static_cast<double>(input_value(output, {s, place.s, n})) *
             input_value(conv.in, {s, place.f, n + conv.dilation * place.n});
    }
  }
  return sum;
}

double exact_of_input(const ConvProblem& conv, const LayerWeights& weights, const Place& place) {
  const Shape5 output = output_shape(LayerProblem(conv));
  const std::int64_t taps = voxels(conv.k);
  double sum = 0;
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    const Vec3 n =
        place.n - conv.dilation * Vec3{tap / (conv.k.y * conv.k.x), tap / conv.k.x % conv.k.y, tap % conv.k.x};
    if (!is_inside(n, output.n)) continue;
    for (std::int64_t f = 0; f < output.f; ++f) {
      const float kernel = weights.kernels[static_cast<std::size_t>((f * conv.in.f + place.f) * taps + tap)];
      sum += static_cast<double>(kernel) * input_value(output, {place.s, f, n});
    }
  }
  return sum;
}

}  // namespace

double exact_gradient(const GradientProblem& problem, const LayerWeights& weights, const Place& place) {
  const auto& conv = std::get<ConvProblem>(problem.layer);
  ensure(is_plain(conv), "the bench knows plain convolutions alone");
  // Of both that of the input: the other is a problem of its own.
  return problem.of == GradientOf::weights ? exact_of_weights(conv, place) : exact_of_input(conv, weights, place);
}

double exact_result(const StepProblem& problem, const LayerWeights& weights, const Place& place) {
  if (const auto* gradient = std::get_if<GradientProblem>(&problem)) return exact_gradient(*gradient, weights, place);
  const auto& layer = std::get<LayerProblem>(problem);
  if (const auto* reorder = std::get_if<ReorderProblem>(&layer)) return input_value(reorder->in, place);
  return exact_output(std::get<ConvProblem>(layer), weights, place);
}

Shape5 result_shape(const StepProblem& problem) {
  const auto* gradient = std::get_if<GradientProblem>(&problem);
  return gradient != nullptr ? gradient_shape(*gradient) : output_shape(std::get<LayerProblem>(problem));
}

}  // namespace znni::bench
