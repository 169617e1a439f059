// Adds up the outputs of overlapping windows, each weighted, and writes the mean
// (server/pipeline/job/window_blend.hpp). Holds as many planes of the output as a window has, in float32, with the sums
// of weights beside them.
#pragma once

#include <vector>

#include "planner/geometry/patch_grid.hpp"
#include "primitives/core/executor.hpp"
#include "primitives/core/tensor.hpp"
#include "server/pipeline/job/window_blend.hpp"
#include "server/volume/volume_view.hpp"

namespace znni {

class Blender {
 public:
  // Blends windows into one output. `output` is the whole one; `window` is the part of it that one window makes.
  Blender(const Shape5& output, Vec3 window, WindowWeight weight);

  // Returns the bytes that one holds; saturates.
  [[nodiscard]] static std::int64_t bytes(const Shape5& output, Vec3 window);

  // Adds the output of a window, a planar view of S = 1, that begins at voxel `begin` of the whole output. What lies
  // beyond is left out. Windows come in the order of the grid: one that begins at a later plane comes when all planes
  // before it are written.
  void add(const TensorView& window, Vec3 begin, Executor& executor);

  // Writes the planes of a slab, of which every window has been added, and gives their memory to later ones. Slabs come
  // in rising order without gaps.
  void write(const OutputSlab& slab, Executor& executor);

 private:
  [[nodiscard]] float* row(std::int64_t channel, std::int64_t z, std::int64_t y);

  Shape5 output_;
  Vec3 window_;
  WindowWeights weights_;
  std::vector<float> sums_;  // [f + 1][window.z][y][x]: planes in a ring; the last channel has the sums of weights
};

}  // namespace znni
