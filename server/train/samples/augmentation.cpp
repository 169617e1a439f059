#include "server/train/samples/augmentation.hpp"

#include <algorithm>
#include <cmath>

namespace znni {
namespace {

constexpr std::array<std::array<int, 3>, 6> orders = {
    {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}};

std::size_t place(std::int64_t number) { return static_cast<std::size_t>(number); }

Vec3 along(Vec3 n, const std::array<int, 3>& axes) { return {n[axes[0]], n[axes[1]], n[axes[2]]}; }

// Blurs a line of `count` voxels that are `step` apart.
void blur_line(std::span<float> voxels, std::int64_t first, std::int64_t step, std::int64_t count) {
  constexpr std::array<float, 5> taps = {1.0F / 16, 4.0F / 16, 6.0F / 16, 4.0F / 16, 1.0F / 16};
  std::vector<float> line(place(count));
  for (std::int64_t i = 0; i < count; ++i) line[place(i)] = voxels[place(first + i * step)];
  for (std::int64_t i = 0; i < count; ++i) {
    float sum = 0;
    for (std::int64_t tap = 0; tap < std::ssize(taps); ++tap) {
      sum += taps[place(tap)] * line[place(std::clamp<std::int64_t>(i + tap - 2, 0, count - 1))];
    }
    voxels[place(first + i * step)] = sum;
  }
}

void blur_plane(std::span<float> plane, Vec3 n) {
  for (std::int64_t y = 0; y < n.y; ++y) blur_line(plane, y * n.x, 1, n.x);
  for (std::int64_t x = 0; x < n.x; ++x) blur_line(plane, x, n.x, n.y);
}

}  // namespace

Symmetry draw_symmetry(const AugmentationOptions& options, Vec3 patch, Vec3 output, CounterRandom& random) {
  Symmetry symmetry;
  if (!options.symmetries) return symmetry;
  std::vector<std::array<int, 3>> possible;
  for (const std::array<int, 3>& axes : orders) {
    if (along(patch, axes) == patch && along(output, axes) == output) possible.push_back(axes);
  }
  symmetry.axes = possible[place(random.below(std::ssize(possible)))];
  for (int axis = 0; axis < 3; ++axis) symmetry.reversed[axis] = random.below(2);
  return symmetry;
}

template <class Element>
std::vector<Element> turned(std::span<const Element> values, Vec3 n, const Symmetry& symmetry) {
  const Vec3 strides{n.y * n.x, n.x, 1};
  const Vec3 out = along(n, symmetry.axes);
  Vec3 steps;  // in the source, for one voxel along each axis of what is turned
  std::int64_t first = 0;
  for (int i = 0; i < 3; ++i) {
    const int axis = symmetry.axes[place(i)];
    const bool reversed = symmetry.reversed[axis] != 0;
    steps[i] = reversed ? -strides[axis] : strides[axis];
    if (reversed) first += (n[axis] - 1) * strides[axis];
  }
  std::vector<Element> result;
  result.reserve(values.size());
  for (std::int64_t begin = first; std::ssize(result) < std::ssize(values); begin += voxels(n)) {
    for (std::int64_t z = 0; z < out.z; ++z) {
      for (std::int64_t y = 0; y < out.y; ++y) {
        const std::int64_t row = begin + z * steps.z + y * steps.y;
        for (std::int64_t x = 0; x < out.x; ++x) result.push_back(values[place(row + x * steps.x)]);
      }
    }
  }
  return result;
}

template std::vector<float> turned(std::span<const float>, Vec3, const Symmetry&);
template std::vector<std::uint8_t> turned(std::span<const std::uint8_t>, Vec3, const Symmetry&);
template std::vector<std::uint64_t> turned(std::span<const std::uint64_t>, Vec3, const Symmetry&);

void change_tone(const AugmentationOptions& options, CounterRandom& random, std::span<float> voxels) {
  const auto factor = static_cast<float>(std::exp(options.contrast * random.normal()));
  const auto more = static_cast<float>(options.brightness * random.normal());
  if (options.contrast == 0 && options.brightness == 0) return;
  for (float& voxel : voxels) voxel = voxel * factor + more;
}

void damage_planes(const AugmentationOptions& options, CounterRandom& random, Vec3 n, std::span<float> voxels) {
  const std::int64_t plane = n.y * n.x;
  const std::int64_t channels = std::ssize(voxels) / (plane * n.z);
  for (std::int64_t z = 0; z < n.z; ++z) {
    const bool is_missing = random.chance(options.missing_planes);
    const bool is_blurred = random.chance(options.blurred_planes);
    if (!is_missing && !is_blurred) continue;
    for (std::int64_t channel = 0; channel < channels; ++channel) {
      const std::span<float> own = voxels.subspan(place((channel * n.z + z) * plane), place(plane));
      if (is_missing) {
        std::fill(own.begin(), own.end(), 0.0F);
      } else {
        blur_plane(own, n);
      }
    }
  }
}

}  // namespace znni
