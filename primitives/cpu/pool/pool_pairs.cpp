#include "primitives/cpu/pool/pool_pairs.hpp"

#include "primitives/cpu/vectors/simd8.hpp"

namespace znni::cpu {
namespace {

// Two ways to finish the maxima; `v` is the vector of the voxel's lanes.
struct Identity {
  explicit Identity(const PairedPlane& /*plane*/) {}
  Simd8::V operator()(Simd8::V value, int /*v*/) const { return value; }
};
struct Finished {
  const float* bias;
  Simd8::V least;
  explicit Finished(const PairedPlane& plane) : bias(plane.bias), least(Simd8::broadcast(plane.least)) {}
  Simd8::V operator()(Simd8::V value, int v) const {
    return Simd8::max(value + Simd8::load(bias + v * Simd8::lanes), least);
  }
};

// Unrolled loops whose values stay in registers. Members of the plane are copied to locals, because the compiler
// assumes that a vector store may change them.
template <int window_z, int z, int y, int x, int vectors, bool past, class Finish>
struct Pairs {
  static constexpr int planes = window_z + z - 1;  // planes of the input
  static constexpr int lines = y + 1;              // rows of each plane
  static constexpr std::int64_t width = Simd8::lanes * vectors;
  // Maxima over a window's planes and rows, for the offsets along z and y and all lanes of a voxel.
  using Column = Simd8::V[vectors][z][y];

  static void load(const float* in, std::int64_t step_z, std::int64_t step_y, Column& column) {
    for (int v = 0; v < vectors; ++v, in += Simd8::lanes) {
      Simd8::V over_planes[z][lines];
      for (int line = 0; line < lines; ++line) {
        Simd8::V voxels[planes];
        for (int i = 0; i < planes; ++i) voxels[i] = Simd8::load(in + i * step_z + line * step_y);
        for (int i = 0; i < z; ++i) {
          over_planes[i][line] = window_z == 2 ? Simd8::max(voxels[i], voxels[i + window_z - 1]) : voxels[i];
        }
      }
      for (int i = 0; i < z; ++i) {
        for (int j = 0; j < y; ++j) column[v][i][j] = Simd8::max(over_planes[i][j], over_planes[i][j + 1]);
      }
    }
  }

  static void write(const Column& left, const Column& right, const Finish& finish, float* const (&out)[z * y * x],
                    int offset, std::int64_t to) {
    for (int i = 0; i < z * y; ++i) {
      for (int v = 0; v < vectors; ++v) {
        const Simd8::V value = finish(Simd8::max(left[v][i / y][i % y], right[v][i / y][i % y]), v);
        if constexpr (past) {
          Simd8::stream(out[i * x + offset] + to + v * Simd8::lanes, value);
        } else {
          Simd8::store(out[i * x + offset] + to + v * Simd8::lanes, value);
        }
      }
    }
  }

  // Pools one row. Two columns take turns at being the left one, so nothing is copied.
  static void row(const PairedPlane& plane, const float* in, std::int64_t to) {
    const std::int64_t step_z = plane.step_z;
    const std::int64_t step_y = plane.step_y;
    const Finish finish(plane);
    float* out[z * y * x];
    for (int i = 0; i < z * y * x; ++i) out[i] = plane.out[i] + to;
    Column even;
    Column odd;
    load(in, step_z, step_y, even);
    const std::int64_t end = plane.positions * width;
    for (std::int64_t at = 0; at < end; at += width) {
      load(in + 2 * at + width, step_z, step_y, odd);
      write(even, odd, finish, out, 0, at);
      if (x == 1 && at + width == end) return;
      load(in + 2 * at + 2 * width, step_z, step_y, even);
      if constexpr (x == 2) write(odd, even, finish, out, 1, at);
    }
  }

  static void all(const PairedPlane& plane) {
    for (std::int64_t i = 0; i < plane.rows; ++i) row(plane, plane.in + 2 * i * plane.step_y, i * plane.out_step_y);
  }
};

template <int window_z, int z, int y, int x, class Finish>
void pool(std::int64_t width, const PairedPlane& plane) {
  if (width == 16) {
    return plane.past_caches ? Pairs<window_z, z, y, x, 2, true, Finish>::all(plane)
                             : Pairs<window_z, z, y, x, 2, false, Finish>::all(plane);
  }
  return plane.past_caches ? Pairs<window_z, z, y, x, 1, true, Finish>::all(plane)
                           : Pairs<window_z, z, y, x, 1, false, Finish>::all(plane);
}

template <int window_z, int z, int y, int x>
void pool(std::int64_t width, const PairedPlane& plane) {
  if (plane.bias != nullptr) return pool<window_z, z, y, x, Finished>(width, plane);
  return pool<window_z, z, y, x, Identity>(width, plane);
}

template <int window_z, int z>
void pool(std::int64_t width, const PairedPlane& plane) {
  if (plane.offsets.y == 2) {
    return plane.offsets.x == 2 ? pool<window_z, z, 2, 2>(width, plane) : pool<window_z, z, 2, 1>(width, plane);
  }
  return plane.offsets.x == 2 ? pool<window_z, z, 1, 2>(width, plane) : pool<window_z, z, 1, 1>(width, plane);
}

}  // namespace

bool is_of_pairs(const PoolProblem& pool) {
  const bool pairs = pool.window.y == 2 && pool.window.x == 2 && pool.window.z <= 2;
  return pool.kind == PoolKind::max && pairs && pool.stride == pool.window && pool.dilation == Vec3::cube(1);
}

void pool_pairs(std::int64_t width, const PairedPlane& plane) {
  ensure((width == 8 || width == 16) && plane.window_z >= plane.offsets.z && plane.window_z <= 2, "windows of pairs");
  if (plane.window_z == 1) return pool<1, 1>(width, plane);
  return plane.offsets.z == 2 ? pool<2, 2>(width, plane) : pool<2, 1>(width, plane);
}

}  // namespace znni::cpu
