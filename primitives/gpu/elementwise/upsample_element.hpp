// Upsamplings (UpsampleProblem), per element of the output: where it lies between voxels of the input, and what is
// interpolated there, in float. Interpolations go along y, then z, then x.
#pragma once

#include "primitives/gpu/element.hpp"
#include "primitives/gpu/kernel_types.hpp"

namespace znni::cuda {

// In the order of UpsampleKind.
enum class Upsampling : int { nearest, shuffle, linear, aligned };

struct UpsampleArg {
  RowShape rows;  // of the output
  bool planar = true;
  Upsampling kind = Upsampling::nearest;
  Extent n;  // of the input
  Extent factor;
  Index channels = 1;  // of the output, in vectors where they lie side by side
  Steps in;            // in vectors
  RowSteps out;
};

// Place of an output voxel along one axis: `share` of the way from input voxel `near` to `far`.
struct UpsamplePlace {
  Index near = 0;
  Index far = 0;
  float share = 0.0F;
};

// Returns the place of output voxel `v` along an axis of `n` input voxels. `Int` holds extents of the output.
template <class Int>
constexpr UpsamplePlace upsample_place(Upsampling kind, Int n, Int factor, Int v) {
  if (factor == 1) return {v, v, 0.0F};
  const Int of = v / factor;
  if (kind == Upsampling::linear) {
    const Int twice = 2 * (v % factor) + 1 + factor;  // (r + 1/2) / factor + 1/2, in parts of 2 factor
    const Int behind = twice / (2 * factor);
    return {of + behind, of + behind + 1, static_cast<float>(twice % (2 * factor)) / static_cast<float>(2 * factor)};
  }
  if (kind == Upsampling::aligned) {
    const Index scaled = static_cast<Index>(v) * (n - 1);
    const Index last = static_cast<Index>(factor) * n - 1;
    const Index near = scaled / last;
    return {near, near + 1 < n ? near + 1 : near, static_cast<float>(scaled % last) / static_cast<float>(last)};
  }
  return {of, of, 0.0F};
}

// The values that all elements of a row share.
struct UpsampleRow {
  UpsamplePlace z;
  UpsamplePlace y;
  Index in = 0;     // of the input's channel, at its first voxel
  Index out = 0;    // of the row
  Index phase = 0;  // of a shuffle, at x = 0
};
constexpr UpsampleRow upsample_row(const UpsampleArg& arg, Index index) {
  const Row row = row_at(arg.rows, index);
  UpsampleRow made;
  made.z = upsample_place(arg.kind, arg.n.z, arg.factor.z, row.z);
  made.y = upsample_place(arg.kind, arg.n.y, arg.factor.y, row.y);
  made.in = row.s * arg.in.S + row.channel * arg.in.f;
  made.out = offset_of(arg.out, row);
  made.phase = (row.z % arg.factor.z * arg.factor.y + row.y % arg.factor.y) * arg.factor.x;
  return made;
}

constexpr float between(float near, float far, float share) { return near + share * (far - near); }

// Interpolates among eight voxels. `in`: of the channel's first voxel.
template <class T, int width>
constexpr Lanes<T, width> interpolated(const Steps& steps, const UpsampleRow& row, const UpsamplePlace& x,
                                       const Lanes<T, width>* in) {
  float ends[2][width] = {};  // near and far along x
  for (int end = 0; end < 2; ++end) {
    const Lanes<T, width>* const at = in + (end == 0 ? x.near : x.far) * steps.x;
    const Lanes<T, width> a = at[row.z.near * steps.z + row.y.near * steps.y];
    const Lanes<T, width> b = at[row.z.near * steps.z + row.y.far * steps.y];
    const Lanes<T, width> c = at[row.z.far * steps.z + row.y.near * steps.y];
    const Lanes<T, width> d = at[row.z.far * steps.z + row.y.far * steps.y];
    for (int w = 0; w < width; ++w) {
      const float near = between(widen(a.lane[w]), widen(b.lane[w]), row.y.share);
      ends[end][w] = between(near, between(widen(c.lane[w]), widen(d.lane[w]), row.y.share), row.z.share);
    }
  }
  Lanes<T, width> result = {};
  for (int w = 0; w < width; ++w) result.lane[w] = narrow(between(ends[0][w], ends[1][w], x.share), T());
  return result;
}

// Computes element `element` of a row: one vector.
template <class T, int width>
constexpr void upsample_element(const UpsampleArg& arg, const UpsampleRow& row, int element, const Lanes<T, width>* in,
                                Lanes<T, width>* out) {
  const int slow = element / arg.rows.fast;
  const int fast = element % arg.rows.fast;
  const int v = arg.planar ? fast : slow;
  const auto factor = static_cast<int>(arg.factor.x);
  const UpsamplePlace x = upsample_place(arg.kind, static_cast<int>(arg.n.x), factor, v);
  const Lanes<T, width>* from = in + row.in + (arg.planar ? 0 : fast * arg.in.f);
  if (arg.kind == Upsampling::shuffle) from += (row.phase + v % factor) * arg.channels * arg.in.f;
  Lanes<T, width>& to = out[row.out + element_offset(arg.out, slow, fast)];
  if (arg.kind == Upsampling::nearest || arg.kind == Upsampling::shuffle) {
    to = from[row.z.near * arg.in.z + row.y.near * arg.in.y + x.near * arg.in.x];
  } else {
    to = interpolated(arg.in, row, x, from);
  }
}

}  // namespace znni::cuda
