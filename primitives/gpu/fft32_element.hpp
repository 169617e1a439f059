// Transforms of 32^3 tiles without a pass for layouts. Forward, a block of threads takes one plane (z) of one tile for
// eight channels and cuts it out of the tensor. It transforms x and y in shared memory, and writes [z][y frequency][x
// frequency][column]: the columns of the matrix products, contiguous. Then one thread per column transforms z in
// registers, in place. Back the same way, ending the convolution as it writes. Two passes over memory each way, where
// cuFFT and its transpositions take six.
//
// Here stands what each thread does between two barriers; kernels call it, and tests on the host, thread by thread.
#pragma once

#include "primitives/gpu/fft32.hpp"
#include "primitives/gpu/fft_element.hpp"

namespace znni::cuda {

inline constexpr int plane_channels = 8;
inline constexpr int plane_threads = 160;
inline constexpr int plane_frequencies = fft32_points * fft32_half;  // of one plane

// Shared memory of a block, first as real rows, then as their transforms. Strides keep threads of a warp out of each
// other's banks.
inline constexpr int real_row = 33;
inline constexpr int real_channel = 1057;
inline constexpr int spectrum_channel = 546;
inline constexpr int plane_shared_bytes = plane_channels * spectrum_channel * 8;

// One plane of one tile, for up to eight channels.
struct Plane {
  int channels = 0;    // here
  Index column = 0;    // of the first channel
  Index tensor = 0;    // element of the tensor at y = x = 0 of the plane, first channel
  Index residual = 0;  // the same of the residual
  Index channel = 0;   // first
  int z = 0;
  int rows = 0;    // that lie within the tensor
  int voxels = 0;  // of a row, likewise
};

// Returns the groups of planes of a chunk. arg.first is its first column, arg.row_extent the visited part of a tile,
// `tiles` its tiles.
constexpr Index plane_groups(const TileArg& arg) { return ceil_div(arg.channels, plane_channels); }
constexpr Index plane_count(const TileArg& arg, Index tiles) { return tiles * arg.row_extent.z * plane_groups(arg); }

constexpr int within(Index left, Index most) { return static_cast<int>(left < 0 ? 0 : left < most ? left : most); }

constexpr Plane plane_at(const TileArg& arg, const TileEnd& end, Index index) {
  Plane plane;
  const Index groups = plane_groups(arg);
  plane.channel = index % groups * plane_channels;
  plane.channels = within(arg.channels - plane.channel, plane_channels);
  plane.z = static_cast<int>(index / groups % arg.row_extent.z);
  const Index local = index / groups / arg.row_extent.z;
  plane.column = local * arg.channels + plane.channel;
  const Index tile = arg.first / arg.channels + local;
  if (tile >= tile_count(arg.grid)) return plane;
  const TilePlace place = tile_place(arg.grid, tile);
  if (place.start.z + plane.z >= arg.n.z) return plane;
  plane.rows = within(arg.n.y - place.start.y, arg.row_extent.y);
  plane.voxels = within(arg.n.x - place.start.x, arg.row_extent.x);
  const auto offset = [&](const Steps& steps) {
    return place.s * steps.S + plane.channel * steps.f + (place.start.z + plane.z) * steps.z + place.start.y * steps.y +
           place.start.x * steps.x;
  };
  plane.tensor = offset(arg.steps);
  plane.residual = offset(end.residual_steps);
  return plane;
}

// Elements that a thread moves between tensor and shared memory: [channel][y][x], x over the lanes of a warp.
constexpr int plane_elements = plane_channels * fft32_points * fft32_points;

constexpr void read_plane(const TileArg& arg, const Plane& plane, int thread, const float* tensor, float* real) {
  for (int e = thread; e < plane_elements; e += plane_threads) {
    const int x = e % fft32_points;
    const int y = e / fft32_points % fft32_points;
    const int channel = e / (fft32_points * fft32_points);
    const bool inside = channel < plane.channels && y < plane.rows && x < plane.voxels;
    real[channel * real_channel + y * real_row + x] =
        inside ? tensor[plane.tensor + channel * arg.steps.f + y * arg.steps.y + x * arg.steps.x] : 0.0F;
  }
}

// Reads a plane of kernels: `channels` counts pairs, and a tile is one pair.
constexpr void read_kernel_plane(const KernelTileArg& arg, const Plane& plane, int thread, const float* kernels,
                                 float* real) {
  for (int e = thread; e < plane_elements; e += plane_threads) {
    const int x = e % fft32_points;
    const int y = e / fft32_points % fft32_points;
    const int channel = e / (fft32_points * fft32_points);
    const Index row = ((plane.column + channel) * fft32_points + plane.z) * fft32_points + y;
    real[channel * real_channel + y * real_row + x] =
        channel < plane.channels ? kernel_tile_value(arg, row, x, kernels) : 0.0F;
  }
}

// Threads of the x transforms: one per two rows of a channel.
inline constexpr int row_pairs = fft32_points / 2;
constexpr bool has_row_pair(int thread) { return thread < plane_channels * row_pairs; }

// Transforms two real rows as one complex row.
constexpr Points32 read_row_pair(int thread, const float* real) {
  const float* const first = real + thread / row_pairs * real_channel + thread % row_pairs * 2 * real_row;
  Points32 points = {};
  unrolled<fft32_points>([&](auto x) { points.v[x] = {first[x], first[x + real_row]}; });
  return points;
}

// Transforms them and parts the two spectra: of z = a + i b, a has (z[k] + conj z[-k]) / 2, b (z[k] - conj z[-k]) / 2i.
constexpr void transform_row_pair(int thread, Points32& points, Complex* spectra) {
  fft32<-1>(points);
  Complex* const first = spectra + thread / row_pairs * spectrum_channel + thread % row_pairs * 2 * fft32_half;
  unrolled<fft32_half>([&](auto k) {
    const Complex p = points.v[reversed(k)];
    const Complex m = points.v[reversed((fft32_points - k) % fft32_points)];
    first[k] = {0.5F * (p.re + m.re), 0.5F * (p.im - m.im)};
    first[k + fft32_half] = {0.5F * (p.im + m.im), 0.5F * (m.re - p.re)};
  });
}

// Returns true if the thread has a y transform: one per x frequency of a channel, channels over neighbouring threads.
constexpr bool has_column_of_plane(const Plane& plane, int thread) {
  return thread < plane_channels * fft32_half && thread % plane_channels < plane.channels;
}

// Returns the element of [z][y][x frequency][column] of this thread at y = 0.
constexpr Index plane_offset(const Plane& plane, int thread, Index columns) {
  return (static_cast<Index>(plane.z) * plane_frequencies + thread / plane_channels) * columns + plane.column +
         thread % plane_channels;
}

constexpr void transform_plane_column(const Plane& plane, int thread, const Complex* spectra, Index columns,
                                      Complex* out) {
  const Complex* const from = spectra + thread % plane_channels * spectrum_channel + thread / plane_channels;
  Points32 points = {};
  unrolled<fft32_points>([&](auto y) { points.v[y] = from[y * fft32_half]; });
  fft32<-1>(points);
  Complex* const to = out + plane_offset(plane, thread, columns);
  unrolled<fft32_points>([&](auto k) { to[k * fft32_half * columns] = points.v[reversed(k)]; });
}

// Transforms along z, in place: element `index` of a plane (frequency and column). Writes `planes` of the result.
template <int sign>
constexpr void transform_depth(Index index, Index columns, int planes, Complex* spectra) {
  Complex* const first = spectra + index;
  const Index step = plane_frequencies * columns;
  Points32 points = {};
  unrolled<fft32_points>([&](auto z) { points.v[z] = first[z * step]; });
  fft32<sign>(points);
  unrolled<fft32_points>([&](auto k) {
    if (k < planes) first[k * step] = points.v[reversed(k)];
  });
}

// Transforms back along y; rows that are kept go to shared memory.
constexpr void transform_plane_column_back(const Plane& plane, int thread, const Complex* in, Index columns, int rows,
                                           Complex* spectra) {
  const Complex* const from = in + plane_offset(plane, thread, columns);
  Points32 points = {};
  unrolled<fft32_points>([&](auto k) { points.v[k] = from[k * fft32_half * columns]; });
  fft32<1>(points);
  Complex* const to = spectra + thread % plane_channels * spectrum_channel + thread / plane_channels;
  unrolled<fft32_points>([&](auto y) {
    if (y < rows) to[y * fft32_half] = points.v[reversed(y)];
  });
}

// Transforms back along x two spectra of real rows as one of a complex row: the rows are its real and imaginary parts.
// Rows from `rows` on do not exist, and count as zeros.
constexpr Points32 transform_row_pair_back(int thread, int rows, const Complex* spectra) {
  const bool paired = thread % row_pairs * 2 + 1 < rows;
  const Complex* const first = spectra + thread / row_pairs * spectrum_channel + thread % row_pairs * 2 * fft32_half;
  Points32 points = {};
  unrolled<fft32_half>([&](auto k) {
    Complex a = first[k];
    Complex b = paired ? first[k + fft32_half] : Complex{0.0F, 0.0F};
    if (k == 0 || k == fft32_half - 1) a.im = b.im = 0.0F;  // real but for roundings
    points.v[k] = {a.re - b.im, a.im + b.re};
    if (k > 0 && k < fft32_half - 1) points.v[(fft32_points - k) % fft32_points] = {a.re + b.im, b.re - a.im};
  });
  fft32<1>(points);
  return points;
}

constexpr void write_row_pair(int thread, const Points32& points, float* real) {
  float* const first = real + thread / row_pairs * real_channel + thread % row_pairs * 2 * real_row;
  unrolled<fft32_points>([&](auto x) {
    first[x] = points.v[reversed(x)].re;
    first[x + real_row] = points.v[reversed(x)].im;
  });
}

// Applies bias, residual and activation, and writes to the tensor.
template <class Math>
constexpr void write_plane(const TileArg& arg, const TileEnd& end, const Plane& plane, int thread, const float* real,
                           float* tensor) {
  for (int e = thread; e < plane_elements; e += plane_threads) {
    const int x = e % fft32_points;
    const int y = e / fft32_points % fft32_points;
    const int channel = e / (fft32_points * fft32_points);
    if (channel >= plane.channels || y >= plane.rows || x >= plane.voxels) continue;
    const Steps& steps = end.residual_steps;
    const Index residual = plane.residual + channel * steps.f + y * steps.y + x * steps.x;
    tensor[plane.tensor + channel * arg.steps.f + y * arg.steps.y + x * arg.steps.x] =
        tile_end<Math>(end, real[channel * real_channel + y * real_row + x], plane.channel + channel, residual);
  }
}

}  // namespace znni::cuda
