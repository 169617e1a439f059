#include "tests/oracle/local_tolerance.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace znni::oracle {
namespace {

std::int64_t step_along(Vec3 n, int axis) { return axis == 0 ? n.y * n.x : axis == 1 ? n.x : 1; }

// Returns the largest values along one axis, which then has length `n_out`.
Values largest_along(const Values& values, Vec3 n, int axis, std::int64_t before, std::int64_t after,
                     std::int64_t n_out) {
  const std::int64_t step = step_along(n, axis);
  const std::int64_t line = step * n[axis];
  Values out;
  for (std::size_t first = 0; first < values.size(); first += static_cast<std::size_t>(line)) {
    for (std::int64_t i = 0; i < n_out * step; ++i) {
      const double* const along = values.data() + first + i % step;
      double most = 0;
      const std::int64_t end = std::min(i / step + after + 1, n[axis]);
      for (std::int64_t at = std::max<std::int64_t>(i / step - before, 0); at < end; ++at) {
        most = std::max(most, along[at * step]);
      }
      out.push_back(most);
    }
  }
  return out;
}

// Returns, for each input, the largest value that each output voxel's error depends on.
std::vector<Values> within_reach(const LayerProblem& problem, std::span<const Values> inputs, Vec3 spread) {
  std::vector<Values> largest;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    largest.push_back(largest_of_channels(input_shape(problem, static_cast<int>(i)), sized(problem, i, inputs[i])));
  }
  if (const ConvProblem* conv = convolution_of(problem)) {
    const Vec3 read = dilated(conv->k, conv->dilation) - Vec3::cube(1);
    const Vec3 dense = conv->in.n - read;
    largest[0] = largest_around(largest[0], conv->in.n, spread, read + spread, dense);
    const PoolProblem strided{.in = {conv->in.S, 1, dense}, .window = Vec3::cube(1), .stride = conv->stride};
    largest[0] = oracle_run(strided, std::span(largest.data(), 1), {});
  }
  if (const auto* upsample = std::get_if<UpsampleProblem>(&problem)) {
    const Vec3 read = upsampling_window(upsample->kind, upsample->factor) - Vec3::cube(1);
    const Shape5 of_largest{upsample->in.S, 1, upsample->in.n - read};
    // With aligned corners a voxel lies less than one away from where a repeated one would.
    const Vec3 beside = upsample->kind == UpsampleKind::aligned ? Vec3::cube(1) : Vec3{};
    largest[0] = largest_around(largest[0], upsample->in.n, beside, read + beside, of_largest.n);
    largest[0] = oracle_run(UpsampleProblem{of_largest, upsample->factor}, std::span(largest.data(), 1), {});
  }
  const auto* both = std::get_if<ConvPoolProblem>(&problem);
  if (const auto* pool = both != nullptr ? &both->pool : std::get_if<PoolProblem>(&problem)) {
    PoolProblem of_largest = *pool;
    of_largest.kind = PoolKind::max;
    of_largest.in.f = 1;
    largest[0] = oracle_run(of_largest, std::span(largest.data(), 1), {});
  }
  return largest;
}

}  // namespace

Values largest_of_channels(const Shape5& shape, const Values& values) {
  const std::int64_t count = voxels(shape.n);
  Values most(static_cast<std::size_t>(shape.S * count), 0.0);
  for (std::int64_t i = 0; i < elements(shape); ++i) {
    double& at = most[static_cast<std::size_t>(i / (shape.f * count) * count + i % count)];
    at = std::max(at, std::abs(values[static_cast<std::size_t>(i)]));
  }
  return most;
}

Values largest_around(const Values& values, Vec3 n, Vec3 before, Vec3 after, Vec3 n_out) {
  Values largest = values;
  for (int axis = 0; axis < 3; ++axis) {
    largest = largest_along(largest, n, axis, before[axis], after[axis], n_out[axis]);
    n[axis] = n_out[axis];
  }
  return largest;
}

Values local_tolerance(const LayerProblem& problem, std::span<const Values> inputs, const LayerWeights& weights,
                       Vec3 spread) {
  const std::vector<Values> largest = within_reach(problem, inputs, spread);
  const Shape5 out = output_shape(problem);
  Values allowed;
  std::vector<double> here(largest.size());
  for (std::size_t at = 0; at < static_cast<std::size_t>(out.S * voxels(out.n)); ++at) {
    for (std::size_t i = 0; i < largest.size(); ++i) here[i] = largest[i][at];
    allowed.push_back(tolerance_within(problem, here, weights));
  }
  return allowed;
}

}  // namespace znni::oracle
