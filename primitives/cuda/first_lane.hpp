// Convolution of few images (a net's first layer), per thread: two voxels, 32 apart along x, by sixteen images of the
// output. Weights are [tap][images of the output, padded to sixteens], so that a warp reads the same four vectors; each
// input voxel is read from the first cache. Bias and activation fused; the output in any format and type.
#pragma once

#include "primitives/cuda/activate.hpp"
#include "primitives/cuda/element.hpp"
#include "primitives/cuda/kernel_types.hpp"
#include "primitives/cuda/unrolled.hpp"

namespace znni::cuda {

inline constexpr int first_images = 16;  // of a thread
inline constexpr int first_voxels = 2;   // of a thread
inline constexpr int first_lanes = 32;   // neighbours along x

struct FirstArg {
  RowShape rows;  // S, groups of sixteen images, z, y of the output; slow 1, fast: threads of a row
  Index f = 1;
  Index f_out = 1;
  Index n_x = 1;  // of the output
  Extent k;
  Extent dilation;
  Steps in;
  Steps out;
  Act act = Act::none;
  float alpha = 0.0F;
};

// Threads of a row of `n_x` voxels.
constexpr int first_row_lanes(Index n_x) {
  return static_cast<int>(ceil_div(n_x, first_voxels * first_lanes)) * first_lanes;
}

template <class Math, class T>
constexpr void first_lane(const FirstArg& arg, const Row& row, int lane, const float* in,
                          const Lanes<float, 4>* weights, const float* bias, T* out) {
  const Index x0 = lane / first_lanes * (first_voxels * first_lanes) + lane % first_lanes;
  if (x0 >= arg.n_x) return;
  const bool second = x0 + first_lanes < arg.n_x;
  const Index apart = second ? first_lanes * arg.in.x : 0;  // reads what is there
  const Index groups = arg.rows.images;
  const float* const from = in + row.s * arg.in.S + row.z * arg.in.z + row.y * arg.in.y + x0 * arg.in.x;
  const Lanes<float, 4>* w = weights + row.image * (first_images / 4);
  float sums[first_voxels][first_images] = {};
  for (Index i = 0; i < arg.f; ++i) {
    for (Index z = 0; z < arg.k.z; ++z) {
      for (Index y = 0; y < arg.k.y; ++y) {
        const float* at = from + i * arg.in.f + z * arg.dilation.z * arg.in.z + y * arg.dilation.y * arg.in.y;
        for (Index x = 0; x < arg.k.x; ++x) {
          const float a = at[0];
          const float b = at[apart];
          unrolled<first_images / 4>([&](auto q) {
            const Lanes<float, 4> four = w[q];
            unrolled<4>([&](auto c) {
              sums[0][4 * q + c] += a * four.lane[c];
              sums[1][4 * q + c] += b * four.lane[c];
            });
          });
          at += arg.dilation.x * arg.in.x;
          w += groups * (first_images / 4);
        }
      }
    }
  }
  const Index image = row.image * first_images;
  T* const to = out + row.s * arg.out.S + image * arg.out.f + row.z * arg.out.z + row.y * arg.out.y + x0 * arg.out.x;
  unrolled<first_images>([&](auto c) {
    if (image + c >= arg.f_out) return;
    const float shift = bias[image + c];
    to[c * arg.out.f] = narrow(activate<Math>(arg.act, arg.alpha, sums[0][c] + shift), T());
    if (!second) return;
    to[c * arg.out.f + first_lanes * arg.out.x] = narrow(activate<Math>(arg.act, arg.alpha, sums[1][c] + shift), T());
  });
}

}  // namespace znni::cuda
