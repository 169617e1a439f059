// Convolution of few channels and the max pooling behind it (all fragments of an MPF at once). A block of threads
// computes a tile of 16 x 32 voxels of the convolution's output by sixteen channels, plane after plane along z. A
// plane's voxels go to shared memory. From there a thread takes the maxima over y and x of the windows that begin at
// its two voxels; those of the planes before stay in registers. So the tensor between the two layers never exists, and
// its voxels are computed once, but for those that tiles share.
#pragma once

#include "primitives/gpu/first_element.hpp"
#include "primitives/gpu/pool_element.hpp"

namespace znni::cuda {

inline constexpr int first_pool_threads = 256;
inline constexpr int first_pool_x = first_neighbours;  // of the tile: a row per warp
inline constexpr int first_pool_y = first_voxels * first_pool_threads / first_pool_x;
inline constexpr int first_pool_apart = first_pool_y / first_voxels;  // rows between the voxels of a thread
inline constexpr int first_pool_floats = first_channels * first_pool_y * first_pool_x;  // shared
inline constexpr int first_pool_window = 3;                                             // along each axis, at most
inline constexpr Index max_first_pool_blocks = (Index{1} << 31) - 1;                    // of a grid

struct FirstPoolArg {
  FirstConv conv;
  Index S = 1;
  Extent n;  // of the convolution's output
  Extent window;
  Extent stride;
  Extent offsets;  // as in PoolArg
  Extent before;
  Extent out_n;
  Steps out;
  Index planes = 1;  // along z of windows that a block begins
};

// Returns how many places along each axis begin a window.
constexpr Extent window_places(const FirstPoolArg& arg) {
  return {arg.n.z - arg.window.z + 1, arg.n.y - arg.window.y + 1, arg.n.x - arg.window.x + 1};
}
// Returns the places of a tile, whose windows end in it.
constexpr Extent tile_places(const FirstPoolArg& arg) {
  return {arg.planes, first_pool_y - arg.window.y + 1, first_pool_x - arg.window.x + 1};
}
constexpr Extent first_pool_tiles(const FirstPoolArg& arg) {
  const Extent all = window_places(arg);
  const Extent own = tile_places(arg);
  return {ceil_div(all.z, own.z), ceil_div(all.y, own.y), ceil_div(all.x, own.x)};
}
constexpr Index first_pool_blocks(const FirstPoolArg& arg) {
  return arg.S * voxels_of(first_pool_tiles(arg)) * arg.conv.groups;
}

struct FirstPoolBlock {
  Index s = 0;
  Index group = 0;
  Extent begin;      // of its tile
  Index planes = 0;  // of the convolution that it computes
};
// Returns the block of an index. Groups of a tile are neighbours, because they read the same voxels.
constexpr FirstPoolBlock first_pool_block(const FirstPoolArg& arg, Index index) {
  const Extent tiles = first_pool_tiles(arg);
  const Extent own = tile_places(arg);
  FirstPoolBlock block;
  block.group = index % arg.conv.groups;
  index /= arg.conv.groups;
  block.begin.x = index % tiles.x * own.x;
  index /= tiles.x;
  block.begin.y = index % tiles.y * own.y;
  index /= tiles.y;
  block.begin.z = index % tiles.z * own.z;
  block.s = index / tiles.z;
  const Index left = window_places(arg).z - block.begin.z;
  block.planes = (left < own.z ? left : own.z) + arg.window.z - 1;
  return block;
}

// Along one axis: which fragment takes the window that begins at a place, and where in it that window's output lies.
struct PooledPlace {
  Index offset = 0;
  Index at = 0;
};
constexpr PooledPlace pooled_place(Index place, Index stride) { return {place % stride, place / stride}; }
constexpr PooledPlace next_place(PooledPlace place, Index stride) {
  return place.offset + 1 == stride ? PooledPlace{0, place.at + 1} : PooledPlace{place.offset + 1, place.at};
}
constexpr bool is_taken(PooledPlace place, Index offsets, Index out_n) {
  return place.offset < offsets && place.at < out_n;
}

// The state that a thread keeps from plane to plane.
template <int window_z>
struct FirstPoolThread {
  Index out[first_voxels] = {};  // of its windows' outputs at z = 0; -1: there is none
  PooledPlace z;                 // of the windows that end with the next plane, once there are any
  float before[window_z][first_voxels][first_channels] = {};  // maxima over y and x of earlier planes, the oldest first
};

template <int window_z>
constexpr FirstPoolThread<window_z> first_pool_thread(const FirstPoolArg& arg, const FirstPoolBlock& block,
                                                      int thread) {
  FirstPoolThread<window_z> own;
  own.z = pooled_place(block.begin.z, arg.stride.z);
  const int column = thread % first_pool_x;
  const PooledPlace x = pooled_place(block.begin.x + column, arg.stride.x);
  unrolled<first_voxels>([&](auto v) {
    const int row = thread / first_pool_x + v * first_pool_apart;
    const PooledPlace y = pooled_place(block.begin.y + row, arg.stride.y);
    const bool taken = row + arg.window.y <= first_pool_y && column + arg.window.x <= first_pool_x &&
                       is_taken(y, arg.offsets.y, arg.out_n.y) && is_taken(x, arg.offsets.x, arg.out_n.x);
    const Index s = pooled_input(arg.before, arg.offsets, block.s, {0, y.offset, x.offset});
    own.out[v] =
        taken ? s * arg.out.S + block.group * first_channels * arg.out.f + y.at * arg.out.y + x.at * arg.out.x : -1;
  });
  return own;
}

// Computes two voxels of plane `plane` of the block into shared memory, [channel][y][x]. Voxels beyond the tensor
// repeat those at its end: no window that is taken reads them.
template <class Math>
constexpr void first_pool_convolve(const FirstPoolArg& arg, const FirstPoolBlock& block, int thread, Index plane,
                                   const float* in, const Lanes<float, 4>* weights, const float* bias, float* shared) {
  const FirstConv& conv = arg.conv;
  const Index row = block.begin.y + thread / first_pool_x;
  const Index column = block.begin.x + thread % first_pool_x;
  const Index x = column < arg.n.x ? column : arg.n.x - 1;
  const Index y = row < arg.n.y ? row : arg.n.y - 1;
  const Index other = row + first_pool_apart < arg.n.y ? row + first_pool_apart : arg.n.y - 1;
  float sums[first_voxels][first_channels] = {};
  first_sums(conv, in + block.s * conv.in.S + (block.begin.z + plane) * conv.in.z + y * conv.in.y + x * conv.in.x,
             (other - y) * conv.in.y, weights + block.group * (first_channels / 4), sums);
  unrolled<first_channels>([&](auto c) {
    const float shift = bias[block.group * first_channels + c];
    float* const to = shared + c * (first_pool_y * first_pool_x) + thread;
    to[0] = activate<Math>(conv.act, conv.alpha, sums[0][c] + shift);
    to[first_pool_threads] = activate<Math>(conv.act, conv.alpha, sums[1][c] + shift);
  });
}

// Returns the maximum over y and x of the window that begins at `voxel` in shared memory.
constexpr float plane_maximum(Extent window, const float* voxel) {
  float most = *voxel;
  for (int y = 0; y < window.y; ++y) {
    for (int x = 0; x < window.x; ++x) most = larger(most, voxel[y * first_pool_x + x]);
  }
  return most;
}

// Takes up plane `plane`, and writes the outputs of the windows that end with it.
template <class T, int window_z>
constexpr void first_pool_reduce(const FirstPoolArg& arg, const FirstPoolBlock& block, int thread, Index plane,
                                 const float* shared, FirstPoolThread<window_z>& own, T* out) {
  const bool ends = plane >= window_z - 1;
  const bool taken = ends && is_taken(own.z, arg.offsets.z, arg.out_n.z);
  const Index fragment = arg.before.z * arg.before.y * arg.offsets.y * arg.before.x * arg.offsets.x;
  T* const to = out + own.z.offset * fragment * arg.out.S + own.z.at * arg.out.z;
  unrolled<first_voxels>([&](auto v) {
    if (own.out[v] < 0) return;
    unrolled<first_channels>([&](auto c) {
      const float now =
          plane_maximum(arg.window, shared + c * (first_pool_y * first_pool_x) + thread + v * first_pool_threads);
      float most = now;
      unrolled<window_z - 1>([&](auto i) {
        most = larger(most, own.before[i][v][c]);
        own.before[i][v][c] = i + 1 < window_z - 1 ? own.before[i + 1][v][c] : now;
      });
      if (!taken || block.group * first_channels + c >= arg.conv.f_out) return;
      to[own.out[v] + c * arg.out.f] = narrow(most, T());
    });
  });
  if (ends) own.z = next_place(own.z, arg.stride.z);
}

}  // namespace znni::cuda
