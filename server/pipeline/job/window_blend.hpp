// Lays windows of a network that is bound to its window (planner/network/tile_bound.hpp) over a volume that is larger.
// Where they overlap, their weighted mean is the output, as MONAI's sliding_window_inference() and nnU-Net take it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "planner/geometry/patch_grid.hpp"

namespace znni {

enum class WindowWeight { constant, gaussian };

struct WindowBlend {
  WindowWeight weight = WindowWeight::gaussian;
  double overlap = 0.5;  // of neighbouring windows, as a share of their extent; in [0, 1)
  bool operator==(const WindowBlend&) const = default;
};

// Weights of a window's output voxels. A voxel's is the product of those along the axes, and no less than `least`.
struct WindowWeights {
  std::array<std::vector<float>, 3> along;  // z, y, x
  float least = 0;

  // Returns the product along z and y.
  [[nodiscard]] float row(std::int64_t z, std::int64_t y) const {
    return along[0][static_cast<std::size_t>(z)] * along[1][static_cast<std::size_t>(y)];
  }
  [[nodiscard]] float of(Vec3 v) const {
    return std::max(row(v.z, v.y) * along[2][static_cast<std::size_t>(v.x)], least);
  }
};

// Returns weights that are all 1, or that fall with the distance d from the window's middle as exp(-d^2 / (2 sigma^2)).
// sigma is an eighth of the extent per axis, and no weight is below 0.001.
[[nodiscard]] WindowWeights window_weights(WindowWeight weight, Vec3 window);

// Returns where windows of extent `window` begin in a volume of extent `n` along one axis: every (1 - overlap) window
// voxels, rounded down. The last one ends with the volume. One window lies around a volume that is smaller, which then
// has as many voxels before it as behind it, or one less. It begins below 0.
[[nodiscard]] std::vector<std::int64_t> window_begins(std::int64_t n, std::int64_t window, double overlap);

// Returns how many those are, without a list of them.
[[nodiscard]] std::int64_t window_count(std::int64_t n, std::int64_t window, double overlap);

// Returns the grid of windows over an output of extent `output`, of which each makes `window`. Each owns the voxels
// that it is the last to cover. So all voxels are owned once, and a row completes its planes.
[[nodiscard]] PatchGrid make_window_grid(Vec3 output, Vec3 window, double overlap);

}  // namespace znni
