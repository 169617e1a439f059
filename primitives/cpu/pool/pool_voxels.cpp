#include "primitives/cpu/pool/pool_voxels.hpp"

#include <algorithm>

#include "primitives/cpu/vectors/simd8.hpp"

namespace znni::cpu {
namespace {

struct Largest {
  static Simd8::V reduce(Simd8::V a, Simd8::V b) { return Simd8::max(a, b); }
};
struct Sum {
  static Simd8::V reduce(Simd8::V a, Simd8::V b) { return a + b; }
};

// Positions of a row that are processed at once.
constexpr std::int64_t max_positions = 64;
constexpr std::int64_t max_floats = (max_positions + max_pooled - 1) * 16;

// Reduces `count` lines of `floats` floats to one. Meanwhile prefetches the floats at `ahead`.
template <class Reduction, int count>
void reduce_lines(const float* const* from, std::int64_t floats, float* to, const float* ahead) {
  for (std::int64_t at = 0; at < floats; at += Simd8::lanes) {
    Simd8::V value = Simd8::load(from[0] + at);
    for (int i = 1; i < count; ++i) value = Reduction::reduce(value, Simd8::load(from[i] + at));
    Simd8::store(to + at, value);
    Simd8::prefetch(ahead + at);
  }
}

template <class Reduction>
void reduce_lines(const float* const* from, std::int64_t count, std::int64_t floats, float* to, const float* ahead) {
  switch (count) {
    case 1: return reduce_lines<Reduction, 1>(from, floats, to, ahead);
    case 2: return reduce_lines<Reduction, 2>(from, floats, to, ahead);
    case 3: return reduce_lines<Reduction, 3>(from, floats, to, ahead);
    default: return reduce_lines<Reduction, 4>(from, floats, to, ahead);
  }
}

// Writes `count` positions from `columns` on; each is `stride` after the one before it.
template <class Reduction, int parts, int window, bool past_caches>
void write_positions(const float* columns, std::int64_t count, std::int64_t stride, float factor, float* to) {
  constexpr std::int64_t width = Simd8::lanes * parts;
  for (std::int64_t i = 0; i < count; ++i, columns += stride * width, to += width) {
    for (int part = 0; part < parts; ++part) {
      Simd8::V value = Simd8::load(columns + part * Simd8::lanes);
      for (int d = 1; d < window; ++d) {
        value = Reduction::reduce(value, Simd8::load(columns + d * width + part * Simd8::lanes));
      }
      if constexpr (past_caches) {
        Simd8::stream(to + part * Simd8::lanes, factor * value);
      } else {
        Simd8::store(to + part * Simd8::lanes, factor * value);
      }
    }
  }
}

// Pools all rows of the positions [first, first + positions); `first` is a multiple of the stride.
template <class Reduction, int parts, int window>
void pool_positions(const PooledPlane& plane, std::int64_t first, std::int64_t positions) {
  constexpr std::int64_t width = Simd8::lanes * parts;
  alignas(64) float reduced[max_pooled][max_floats];  // ring of input rows, reduced over the window's planes
  alignas(64) float columns[max_floats];              // the same, reduced over the window's rows
  const std::int64_t floats = (positions + window - 1) * width;
  std::int64_t next = 0;  // next row to reduce
  const float* lines[max_pooled];
  for (std::int64_t y = 0; y < plane.rows; ++y) {
    const std::int64_t row = y / plane.kept_y * plane.stride_y + y % plane.kept_y;
    for (next = std::max(next, row); next < row + plane.window.y; ++next) {
      const float* in = plane.in + next * plane.step_y + first * width;
      for (std::int64_t z = 0; z < plane.window.z; ++z) lines[z] = in + z * plane.step_z;
      // Earlier windows already read all planes except the last.
      const float* ahead = lines[plane.window.z - 1] + plane.step_y;
      reduce_lines<Reduction>(lines, plane.window.z, floats, reduced[next % max_pooled], ahead);
    }
    for (std::int64_t i = 0; i < plane.window.y; ++i) lines[i] = reduced[(row + i) % max_pooled];
    if (plane.window.y > 1) reduce_lines<Reduction>(lines, plane.window.y, floats, columns, columns);
    const float* from = plane.window.y > 1 ? columns : lines[0];
    float* const* out = plane.out + y % plane.kept_y * plane.kept_x;
    const std::int64_t to = y / plane.kept_y * plane.out_step_y + first / plane.stride_x * width;
    const auto write = plane.past_caches ? &write_positions<Reduction, parts, window, true>
                                         : &write_positions<Reduction, parts, window, false>;
    for (std::int64_t x = 0; x < std::min(plane.kept_x, positions); ++x) {
      write(from + x * width, div_up(positions - x, plane.stride_x), plane.stride_x, plane.factor, out[x] + to);
    }
  }
}

template <class Reduction, int parts>
void pool_plane(const PooledPlane& plane) {
  const std::int64_t step = max_positions / plane.stride_x * plane.stride_x;
  for (std::int64_t first = 0; first < plane.positions; first += step) {
    const std::int64_t positions = std::min(step, plane.positions - first);
    switch (plane.window.x) {
      case 1: pool_positions<Reduction, parts, 1>(plane, first, positions); break;
      case 2: pool_positions<Reduction, parts, 2>(plane, first, positions); break;
      case 3: pool_positions<Reduction, parts, 3>(plane, first, positions); break;
      default: pool_positions<Reduction, parts, 4>(plane, first, positions); break;
    }
  }
}

}  // namespace

void pool_voxels(PoolKind kind, std::int64_t width, const PooledPlane& plane) {
  ensure(covers(Vec3::cube(max_pooled), plane.window) && plane.stride_x <= max_pooled_stride &&
             (width == 8 || width == 16),
         "short windows over blocked rows");
  if (kind == PoolKind::max) return width == 16 ? pool_plane<Largest, 2>(plane) : pool_plane<Largest, 1>(plane);
  return width == 16 ? pool_plane<Sum, 2>(plane) : pool_plane<Sum, 1>(plane);
}

void finish_pooling() { Simd8::fence(); }

}  // namespace znni::cpu
