#include "server/pipeline/job/window_blend.hpp"

#include <algorithm>
#include <cmath>

namespace znni {
namespace {

constexpr double sigma_share = 0.125;  // of a window's extent
constexpr float min_weight = 1e-3F;

std::vector<float> weights_along(std::int64_t extent) {
  std::vector<float> weights;
  const double sigma = sigma_share * static_cast<double>(extent);
  for (std::int64_t i = 0; i < extent; ++i) {
    const double distance = static_cast<double>(i) - static_cast<double>(extent - 1) / 2.0;
    weights.push_back(static_cast<float>(std::exp(-distance * distance / (2.0 * sigma * sigma))));
  }
  return weights;
}

// Returns the step from one window to the next.
std::int64_t step_of(std::int64_t window, double overlap) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(window) * (1.0 - overlap)));
}

// Part of a volume along one axis that a window owns, and where the window begins.
struct Share {
  std::int64_t begin = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;
};

std::vector<Share> shares_of(std::int64_t n, std::int64_t window, double overlap) {
  const std::vector<std::int64_t> begins = window_begins(n, window, overlap);
  std::vector<Share> shares;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::int64_t end = i + 1 < begins.size() ? begins[i + 1] : n;
    shares.push_back({begins[i], std::max<std::int64_t>(begins[i], 0), end});
  }
  return shares;
}

}  // namespace

WindowWeights window_weights(WindowWeight weight, Vec3 window) {
  WindowWeights weights;
  const bool falls = weight == WindowWeight::gaussian;
  for (int axis = 0; axis < 3; ++axis) {
    std::vector<float>& along = weights.along[static_cast<std::size_t>(axis)];
    along = falls ? weights_along(window[axis]) : std::vector<float>(static_cast<std::size_t>(window[axis]), 1.0F);
  }
  if (falls) weights.least = min_weight;
  return weights;
}

std::vector<std::int64_t> window_begins(std::int64_t n, std::int64_t window, double overlap) {
  if (n <= window) return {-((window - n) / 2)};
  const std::int64_t step = step_of(window, overlap);
  std::vector<std::int64_t> begins;
  for (std::int64_t begin = 0; begin + window < n; begin += step) begins.push_back(begin);
  begins.push_back(n - window);
  return begins;
}

std::int64_t window_count(std::int64_t n, std::int64_t window, double overlap) {
  return n <= window ? 1 : div_up(n - window, step_of(window, overlap)) + 1;
}

PatchGrid make_window_grid(Vec3 output, Vec3 window, double overlap) {
  PatchGrid grid;
  const std::vector<Share> along_y = shares_of(output.y, window.y, overlap);
  const std::vector<Share> along_x = shares_of(output.x, window.x, overlap);
  const std::vector<Share> along_z = shares_of(output.z, window.z, overlap);
  grid.patches.reserve(along_z.size() * along_y.size() * along_x.size());
  for (const Share& z : along_z) {
    for (const Share& y : along_y) {
      for (const Share& x : along_x) {
        const Vec3 start{z.begin, y.begin, x.begin};
        grid.patches.push_back({start, Vec3{z.first, y.first, x.first} - start, Vec3{z.last, y.last, x.last} - start});
      }
    }
    grid.rows.push_back({static_cast<std::int64_t>(grid.patches.size()), z.first, z.last - z.first});
  }
  return grid;
}

}  // namespace znni
