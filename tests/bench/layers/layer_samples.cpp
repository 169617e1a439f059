#include "tests/bench/layers/layer_samples.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace znni::bench {
namespace {

constexpr unsigned place_seed = 7;

// Returns the finalizer of SplitMix64, which makes neighbouring numbers unlike each other.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

float value_at(std::int64_t index) {
  constexpr float step = 1.0F / (1 << 23);
  return static_cast<float>(mixed(static_cast<std::uint64_t>(index)) >> 40) * step - 1.0F;
}

std::int64_t index_of(const Shape5& shape, const Place& place) {
  const Vec3 n = shape.n;
  return (((place.s * shape.f + place.f) * n.z + place.n.z) * n.y + place.n.y) * n.x + place.n.x;
}

void fill_plane(const TensorView& view, std::int64_t s, std::int64_t block, std::int64_t z) {
  const std::int64_t width = block_width(view.format.layout);
  const Shape5& shape = view.shape;
  for (std::int64_t f = block * width; f < (block + 1) * width; ++f) {
    for (std::int64_t y = 0; y < shape.n.y; ++y) {
      float* const row = view.channel(s, f) + z * view.strides.z + y * view.strides.y;
      const std::int64_t first = index_of(shape, {s, f, {z, y, 0}});
      for (std::int64_t x = 0; x < shape.n.x; ++x) row[x * view.strides.x] = f < shape.f ? value_at(first + x) : 0.0F;
    }
  }
}

std::vector<Place> corners(const Shape5& shape) {
  std::vector<Place> places;
  for (int bits = 0; bits < 32; ++bits) {
    const auto end = [bits](int bit, std::int64_t extent) { return (bits >> bit & 1) != 0 ? extent - 1 : 0; };
    places.push_back({end(4, shape.S), end(3, shape.f), {end(2, shape.n.z), end(1, shape.n.y), end(0, shape.n.x)}});
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

}  // namespace

float input_value(const Shape5& shape, const Place& place) { return value_at(index_of(shape, place)); }

void fill_input(const TensorView& view, Executor& executor) {
  const std::int64_t blocks = div_up(view.shape.f, block_width(view.format.layout));
  const std::int64_t planes = view.shape.n.z;
  executor.parallel_for(view.shape.S * blocks * planes, [&](std::int64_t index, int) {
    fill_plane(view, index / (blocks * planes), index / planes % blocks, index % planes);
  });
}

std::vector<Place> sample_places(const Shape5& shape, int count) {
  std::vector<Place> places = corners(shape);
  std::mt19937 engine(place_seed);
  const auto below = [&engine](std::int64_t extent) {
    return std::uniform_int_distribution<std::int64_t>(0, extent - 1)(engine);
  };
  while (static_cast<int>(places.size()) < count) {
    Place place;
    place.s = below(shape.S);
    place.f = below(shape.f);
    for (int axis = 0; axis < 3; ++axis) place.n[axis] = below(shape.n[axis]);
    places.push_back(place);
  }
  return places;
}

double exact_output(const ConvProblem& problem, const LayerWeights& weights, const Place& place) {
  const ActivationKind kind = problem.activation.kind;
  ensure(kind == ActivationKind::none || kind == ActivationKind::relu, "the bench knows relu alone");
  const Vec3 k = problem.k;
  const float* kernel = weights.kernels.data() + place.f * problem.in.f * voxels(k);
  double sum = weights.bias.empty() ? 0.0 : weights.bias[static_cast<std::size_t>(place.f)];
  for (std::int64_t f = 0; f < problem.in.f; ++f) {
    for (std::int64_t tap = 0; tap < voxels(k); ++tap) {
      const Vec3 at{tap / (k.y * k.x), tap / k.x % k.y, tap % k.x};
      sum += static_cast<double>(*kernel++) * input_value(problem.in, {place.s, f, place.n + problem.dilation * at});
    }
  }
  return kind == ActivationKind::relu ? std::max(sum, 0.0) : sum;
}

double relative_error(std::span<const float> found, std::span<const double> exact) {
  ensure(found.size() == exact.size() && !exact.empty(), "as many numbers as there are exact ones");
  double largest = 0;
  double squares = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double difference = std::abs(found[i] - exact[i]);
    if (!std::isfinite(difference)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, difference);
    squares += exact[i] * exact[i];
  }
  if (largest == 0) return 0;
  return largest / std::sqrt(squares / static_cast<double>(exact.size()));
}

}  // namespace znni::bench
