// Convolution of few channels (a net's first layer), per thread: two voxels, 32 apart along x, by sixteen channels of
// the output. Weights are [tap][channels of the output, padded to sixteens], so that a warp reads the same four
// vectors; each input voxel is read from the first cache. Bias and activation fused; the output in any format and type.
#pragma once

#include "primitives/gpu/activate.hpp"
#include "primitives/gpu/element.hpp"
#include "primitives/gpu/kernel_types.hpp"
#include "primitives/gpu/unrolled.hpp"

namespace znni::cuda {

inline constexpr int first_channels = 16;    // of a thread
inline constexpr int first_voxels = 2;       // of a thread
inline constexpr int first_neighbours = 32;  // neighbours along x

struct FirstConv {
  Index f = 1;
  Index f_out = 1;
  Index groups = 1;  // of sixteen channels of the output
  Extent k;
  Extent dilation;
  Steps in;
  Act act = Act::none;
  float alpha = 0.0F;
};

struct FirstArg {
  FirstConv conv;
  RowShape rows;  // S, groups, z, y of the output; slow 1, fast: threads of a row
  Index n_x = 1;  // of the output
  Steps out;
};

// Returns the threads of a row of `n_x` voxels.
constexpr int first_row_elements(Index n_x) {
  return static_cast<int>(ceil_div(n_x, first_voxels * first_neighbours)) * first_neighbours;
}

// Computes the sums of two voxels before the bias. Their windows begin at `from` and `apart` elements behind it; `w`:
// the vectors of the group at the first tap.
constexpr void first_sums(const FirstConv& conv, const float* from, Index apart, const Lanes<float, 4>* w,
                          float (&sums)[first_voxels][first_channels]) {
  unrolled<first_channels>([&](auto c) { sums[0][c] = sums[1][c] = 0.0F; });
  for (Index i = 0; i < conv.f; ++i) {
    for (Index z = 0; z < conv.k.z; ++z) {
      for (Index y = 0; y < conv.k.y; ++y) {
        const float* at = from + i * conv.in.f + z * conv.dilation.z * conv.in.z + y * conv.dilation.y * conv.in.y;
        for (Index x = 0; x < conv.k.x; ++x) {
          const float a = at[0];
          const float b = at[apart];
          unrolled<first_channels / 4>([&](auto q) {
            const Lanes<float, 4> four = w[q];
            unrolled<4>([&](auto c) {
              sums[0][4 * q + c] += a * four.lane[c];
              sums[1][4 * q + c] += b * four.lane[c];
            });
          });
          at += conv.dilation.x * conv.in.x;
          w += conv.groups * (first_channels / 4);
        }
      }
    }
  }
}

template <class Math, class T>
constexpr void first_element(const FirstArg& arg, const Row& row, int element, const float* in,
                             const Lanes<float, 4>* weights, const float* bias, T* out) {
  const FirstConv& conv = arg.conv;
  const Index x0 = element / first_neighbours * (first_voxels * first_neighbours) + element % first_neighbours;
  if (x0 >= arg.n_x) return;
  const bool second = x0 + first_neighbours < arg.n_x;
  const Index apart = second ? first_neighbours * conv.in.x : 0;  // reads what is there
  float sums[first_voxels][first_channels] = {};
  first_sums(conv, in + row.s * conv.in.S + row.z * conv.in.z + row.y * conv.in.y + x0 * conv.in.x, apart,
             weights + row.channel * (first_channels / 4), sums);
  const Index channel = row.channel * first_channels;
  T* const to = out + row.s * arg.out.S + channel * arg.out.f + row.z * arg.out.z + row.y * arg.out.y + x0 * arg.out.x;
  unrolled<first_channels>([&](auto c) {
    if (channel + c >= conv.f_out) return;
    const float shift = bias[channel + c];
    to[c * arg.out.f] = narrow(activate<Math>(conv.act, conv.alpha, sums[0][c] + shift), T());
    if (!second) return;
    to[c * arg.out.f + first_neighbours * arg.out.x] =
        narrow(activate<Math>(conv.act, conv.alpha, sums[1][c] + shift), T());
  });
}

}  // namespace znni::cuda
