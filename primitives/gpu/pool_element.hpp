// Pooling, per element: which window an element of the output reduces and where it belongs. Work is laid out by dense
// position (every offset of every window) rather than by output. So neighbouring threads read neighbouring voxels once,
// and all fragments are written in one pass.
#pragma once

#include "primitives/gpu/element.hpp"
#include "primitives/gpu/kernel_types.hpp"

namespace znni::cuda {

struct PoolArg {
  RowShape rows;  // of dense positions: z and y count out.n * offsets; so does slow (channels last) or fast (planar)
  bool planar = true;
  Extent window;
  Extent stride;
  Extent dilation;
  Extent offsets;  // fragments made per axis; 1 where the pooling is plain
  Extent before;   // fragments made by earlier poolings
  Steps in;        // in vectors
  Steps out;
  bool average = false;
  bool inside = false;  // the average is that of voxels that are not -infinity, 0 if there are none
  float factor = 1.0F;
};

// Returns the input that the output of fragment `offset`, of `offsets`, of input s, one of fragments `before`, belongs
// to (PoolProblem). It is linear in each axis of `offset`.
constexpr Index pooled_input(Extent before, Extent offsets, Index s, Extent offset) {
  const Index earlier = voxels_of(before);
  const Index index = s % earlier;
  const Index z = offset.z * before.z + index / (before.y * before.x);
  const Index y = offset.y * before.y + index / before.x % before.y;
  const Index x = offset.x * before.x + index % before.x;
  return s / earlier * earlier * voxels_of(offsets) + (z * before.y * offsets.y + y) * (before.x * offsets.x) + x;
}

// Returns the larger number, or a NaN if there is one.
constexpr float larger(float a, float b) { return b > a || b != b ? b : a; }

// The values that all elements of a row share.
struct PoolRow {
  Index in = 0;   // of the windows at x = 0
  Index out = 0;  // of offset.x = 0, x = 0
};
constexpr PoolRow pool_row(const PoolArg& pool, Index index) {
  const Row row = row_at(pool.rows, index);
  const Index z = row.z / pool.offsets.z;
  const Index y = row.y / pool.offsets.y;
  const Index offset_z = row.z % pool.offsets.z;
  const Index offset_y = row.y % pool.offsets.y;
  const Index s = pooled_input(pool.before, pool.offsets, row.s, {offset_z, offset_y, 0});
  return {row.s * pool.in.S + row.channel * pool.in.f + (z * pool.stride.z + offset_z) * pool.in.z +
              (y * pool.stride.y + offset_y) * pool.in.y,
          s * pool.out.S + row.channel * pool.out.f + z * pool.out.z + y * pool.out.y};
}

// Reduces the window that begins at `in`.
template <class T, int width>
constexpr Lanes<T, width> pool_window(const PoolArg& pool, const Lanes<T, width>* in) {
  float best[width] = {};
  int outside[width] = {};
  for (int w = 0; w < width; ++w) best[w] = pool.average ? 0.0F : float_of(0xff800000U);
  for (Index z = 0; z < pool.window.z; ++z) {
    for (Index y = 0; y < pool.window.y; ++y) {
      for (Index x = 0; x < pool.window.x; ++x) {
        const Lanes<T, width> value =
            in[pool.dilation.z * z * pool.in.z + pool.dilation.y * y * pool.in.y + pool.dilation.x * x * pool.in.x];
        for (int w = 0; w < width; ++w) {
          float v = widen(value.lane[w]);
          if (pool.inside && v == float_of(0xff800000U)) {
            v = 0.0F;
            ++outside[w];
          }
          best[w] = pool.average ? best[w] + v : larger(best[w], v);
        }
      }
    }
  }
  Lanes<T, width> result = {};
  for (int w = 0; w < width; ++w) {
    float factor = pool.factor;
    if (pool.inside) {
      const auto voxels = static_cast<int>(voxels_of(pool.window)) - outside[w];
      factor = voxels == 0 ? 0.0F : 1.0F / static_cast<float>(voxels);
    }
    result.lane[w] = narrow(best[w] * factor, T());
  }
  return result;
}

// Computes element `element` of a row: reads its window, writes one vector.
template <class T, int width>
constexpr void pool_element(const PoolArg& pool, const PoolRow& row, int element, const Lanes<T, width>* in,
                            Lanes<T, width>* out) {
  const int position = pool.planar ? element : element / pool.rows.fast;
  const int channel = pool.planar ? 0 : element % pool.rows.fast;
  const int offsets = static_cast<int>(pool.offsets.x);
  const int x = position / offsets;
  const int offset = position % offsets;
  const Index from = row.in + (x * pool.stride.x + offset) * pool.in.x + channel;
  const Index to = row.out + offset * pool.before.x * pool.out.S + x * pool.out.x + channel;
  out[to] = pool_window(pool, in + from);
}

}  // namespace znni::cuda
