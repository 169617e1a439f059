#include "server/train/step/pads.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
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

bool is_copied(OutsideKind kind) { return kind == OutsideKind::edge || kind == OutsideKind::reflect; }

// Returns the voxel of n that stands at place v, below 0 or from n on outside; -1 if reflection reaches none.
std::int64_t source_of(OutsideKind kind, std::int64_t v, std::int64_t n) {
  if (kind == OutsideKind::edge) return std::clamp<std::int64_t>(v, 0, n - 1);
  v = std::abs(v);
  return v < n ? v : std::max<std::int64_t>(2 * (n - 1) - v, -1);
}

// Per voxel of an axis, the places of the padded axis where it stands, rising.
using Copies = std::vector<std::vector<std::int64_t>>;

Copies copies_along(const PadProblem& pad, int axis) {
  const std::int64_t n = pad.in.n[axis];
  const std::int64_t begin = pad.around.begin[axis];
  Copies copies(static_cast<std::size_t>(n));
  for (std::int64_t at = 0; at < begin + n + pad.around.end[axis]; ++at) {
    const std::int64_t source = source_of(pad.kind, at - begin, n);
    if (source >= 0) copies[static_cast<std::size_t>(source)].push_back(at);
  }
  return copies;
}

// Adds to a row what a row of the padded gradient has for it. `width` floats are a voxel.
void add_row(const float* from, const Copies& copies, std::int64_t width, float* to) {
  for (const std::vector<std::int64_t>& own : copies) {
    for (const std::int64_t at : own) {
      for (std::int64_t lane = 0; lane < width; ++lane) to[lane] += from[at * width + lane];
    }
    to += width;
  }
}

void add_copies(const PadProblem& pad, const TensorView& from, const TensorView& to, Executor& executor) {
  const std::int64_t width = block_width(to.format.layout);
  const std::array<Copies, 3> copies = {copies_along(pad, 0), copies_along(pad, 1), copies_along(pad, 2)};
  for_each_row(to, executor, [&](std::int64_t s, std::int64_t j, Vec3 start) {
    float* const row = &to.at(s, j, start);
    std::fill_n(row, to.shape.n.x * width, 0.0F);
    for (const std::int64_t z : copies[0][static_cast<std::size_t>(start.z)]) {
      for (const std::int64_t y : copies[1][static_cast<std::size_t>(start.y)]) {
        add_row(&from.at(s, j, {z, y, 0}), copies[2], width, row);
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
  if (pad.kind == OutsideKind::reflect) return fill_reflected(to, starts, pad.around, to.shape.n, 0, executor);
  const float value = pad.kind == OutsideKind::lowest ? -std::numeric_limits<float>::infinity() : 0.0F;
  fill_outside(to, starts, pad.around, to.shape.n, value, executor);
}

void write_pad_gradient(const PadProblem& pad, const TensorView& from, const TensorView& to, Executor& executor) {
  if (is_copied(pad.kind)) return add_copies(pad, from, to, executor);
  copy(inside_of(from, pad.around), to, executor);
}

}  // namespace znni
