#include "server/train/step/pads.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "primitives/core/index.hpp"
#include "server/pipeline/schedule/outside.hpp"

namespace znni {
namespace {

// Calls body(s, j, start) for every row of a tensor, of whole blocks of channels.
template <class Body>
void for_each_row(const TensorView& view, Executor& executor, const Body& body) {
  const std::int64_t width = block_width(view.format.layout);
  const std::int64_t blocks = div_up(view.shape.f, width);
  const Vec3 n = view.shape.n;
  executor.parallel_for(view.shape.S * blocks * n.z, [&](std::int64_t index, int) {
    for (std::int64_t y = 0; y < n.y; ++y) {
      body(index / n.z / blocks, index / n.z % blocks * width, Vec3{index % n.z, y, 0});
    }
  });
}

void copy(const TensorView& from, const TensorView& to, Executor& executor) {
  const std::int64_t floats = to.shape.n.x * block_width(to.format.layout);
  for_each_row(to, executor, [&](std::int64_t s, std::int64_t j, Vec3 start) {
    std::copy_n(&from.at(s, j, start), floats, &to.at(s, j, start));
  });
}

// The voxels [first, last) of a padded axis that repeat voxel v of n.
struct Repeats {
  std::int64_t first = 0;
  std::int64_t last = 0;
};
Repeats repeats_of(std::int64_t v, std::int64_t n, std::int64_t begin, std::int64_t end) {
  return {v == 0 ? 0 : begin + v, begin + v + 1 + (v == n - 1 ? end : 0)};
}

// Adds to a row what a row of the padded gradient has for it. `width` floats are a voxel.
void add_row(const float* from, std::int64_t n, const Border& around, std::int64_t width, float* to) {
  for (std::int64_t x = 0; x < n; ++x, to += width) {
    const Repeats own = repeats_of(x, n, around.begin.x, around.end.x);
    for (std::int64_t at = own.first; at < own.last; ++at) {
      for (std::int64_t lane = 0; lane < width; ++lane) to[lane] += from[at * width + lane];
    }
  }
}

void add_repeats(const Border& around, const TensorView& from, const TensorView& to, Executor& executor) {
  const std::int64_t width = block_width(to.format.layout);
  const Vec3 n = to.shape.n;
  for_each_row(to, executor, [&](std::int64_t s, std::int64_t j, Vec3 start) {
    float* const row = &to.at(s, j, start);
    std::fill_n(row, n.x * width, 0.0F);
    const Repeats along_z = repeats_of(start.z, n.z, around.begin.z, around.end.z);
    const Repeats along_y = repeats_of(start.y, n.y, around.begin.y, around.end.y);
    for (std::int64_t z = along_z.first; z < along_z.last; ++z) {
      for (std::int64_t y = along_y.first; y < along_y.last; ++y) {
        add_row(&from.at(s, j, {z, y, 0}), n.x, around, width, row);
      }
    }
  });
}

}  // namespace

TensorView inside_of(const TensorView& padded, const Border& around) {
  TensorView inside = padded;
  inside.data = &padded.at(0, 0, around.begin);
  inside.shape.n = padded.shape.n - around.begin - around.end;
  return inside;
}

void write_padded(const PadProblem& pad, const TensorView& from, const TensorView& to, Executor& executor) {
  copy(from, inside_of(to, pad.around), executor);
  const std::vector<Vec3> starts(static_cast<std::size_t>(to.shape.S));
  if (pad.kind == OutsideKind::edge) return fill_edges(to, starts, pad.around, to.shape.n, 0, executor);
  const float value = pad.kind == OutsideKind::lowest ? -std::numeric_limits<float>::infinity() : 0.0F;
  fill_outside(to, starts, pad.around, to.shape.n, value, executor);
}

void write_pad_gradient(const PadProblem& pad, const TensorView& from, const TensorView& to, Executor& executor) {
  if (pad.kind == OutsideKind::edge) return add_repeats(pad.around, from, to, executor);
  copy(inside_of(from, pad.around), to, executor);
}

}  // namespace znni
