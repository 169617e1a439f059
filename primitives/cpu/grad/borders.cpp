#include "primitives/cpu/grad/borders.hpp"

#include <algorithm>

#include "primitives/cpu/elementwise/runs.hpp"

namespace znni::cpu {
namespace {

// Writes a row: `count` floats of `from`, with `before` zeros before them and as many behind as there is room.
void place_row(std::span<float> to, const float* from, std::int64_t before, std::int64_t count) {
  const auto begin = std::fill_n(to.begin(), before, 0.0F);
  std::fill(std::copy_n(from, count, begin), to.end(), 0.0F);
}

}  // namespace

void copy_bordered(const TensorView& from, std::int64_t first, Vec3 begin, const TensorView& to, Executor& executor) {
  const std::int64_t blocks = blocks_of(to);
  const std::int64_t width = block_width(to.format.layout);
  const Vec3 n = to.shape.n;
  const Vec3 inside = from.shape.n;
  executor.parallel_for(to.shape.S * blocks * n.z, [&](std::int64_t index, int) {
    Run run{index / n.z / blocks, index / n.z % blocks, {index % n.z, 0, 0}, n.x * width};
    for (; run.start.y < n.y; ++run.start.y) {
      const std::span<float> row = run_of(to, run);
      const Vec3 at = run.start - Vec3{begin.z, begin.y, 0};
      if (at.z < 0 || at.z >= inside.z || at.y < 0 || at.y >= inside.y) {
        std::fill(row.begin(), row.end(), 0.0F);
      } else {
        place_row(row, &from.at(run.s, first + run.block * width, at), begin.x * width, inside.x * width);
      }
    }
  });
}

}  // namespace znni::cpu
