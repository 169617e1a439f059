// Contiguous runs of floats common to several views of equal extents and format. Element-wise primitives loop over
// them. A run is a plane if all views are dense, else a row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "primitives/core/executor.hpp"
#include "primitives/core/tensor.hpp"

namespace znni::cpu {

// Start of a run: voxel `start` of block `block` of input s. In planar views a block is one channel.
struct Run {
  std::int64_t s = 0;
  std::int64_t block = 0;
  Vec3 start;
  std::int64_t floats = 0;  // lanes of blocked layouts included
};

// Returns the floats of a run in one of its views.
[[nodiscard]] inline std::span<float> run_of(const TensorView& view, const Run& run) {
  const std::int64_t channel = run.block * block_width(view.format.layout);
  return {&view.at(run.s, channel, run.start), static_cast<std::size_t>(run.floats)};
}

// Returns whether the rows of a plane follow each other without a gap.
[[nodiscard]] inline bool has_dense_planes(const TensorView& view) {
  const std::int64_t width = block_width(view.format.layout);
  return view.strides.x == width && view.strides.y == width * view.shape.n.x;
}

// Calls body(run, worker) for every run of `blocks` blocks of each input, with planes spread over the workers. All
// views have the S, n and format of `out`, and contiguous rows.
template <class Body>
void for_each_run(Executor& executor, const TensorView& out, std::span<const TensorView> others, std::int64_t blocks,
                  const Body& body) {
  const Vec3 n = out.shape.n;
  const std::int64_t width = block_width(out.format.layout);
  const bool planes = has_dense_planes(out) && std::all_of(others.begin(), others.end(), has_dense_planes);
  executor.parallel_for(out.shape.S * blocks * n.z, [&](std::int64_t index, int worker) {
    Run run{index / n.z / blocks, index / n.z % blocks, {index % n.z, 0, 0}, (planes ? n.y : 1) * n.x * width};
    for (; run.start.y < (planes ? 1 : n.y); ++run.start.y) body(run, worker);
  });
}

// Returns the number of blocks of a view; in planar views a block is one channel.
[[nodiscard]] inline std::int64_t blocks_of(const TensorView& view) {
  return div_up(view.shape.f, block_width(view.format.layout));
}

}  // namespace znni::cpu
