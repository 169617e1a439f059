#include "primitives/cpu/conv/conv_direct_kernel.hpp"

#include <algorithm>
#include <array>

#include "primitives/cpu/vectors/simd8.hpp"

namespace znni::cpu {
namespace {

// 4 channels x 3 vectors use 12 of the 16 registers of an AVX2 machine; 3 hold inputs, 1 a weight. If a vector takes
// two of 32 registers, they use 24; 6 hold inputs, 1 a weight.
constexpr int max_channels = 4;
constexpr int max_vectors = 3;

using Lanes = Simd8::V;

// Calls body(row, kernels) for every input row that the output row depends on. `kernels` advances by `block` per
// position along x.
template <class Body>
inline void for_each_input_row(const DirectRow& row, std::int64_t block, const Body& body) {
  const float* kernels = row.kernels;
  for (std::int64_t i = 0; i < row.f; ++i) {
    const float* channel = row.in + i * row.in_strides.f;
    for (std::int64_t d = 0; d < row.k.z * row.k.y; ++d) {
      const std::int64_t z = d / row.k.y * row.dilation.z;
      const std::int64_t y = d % row.k.y * row.dilation.y;
      body(channel + z * row.in_strides.z + y * row.in_strides.y, kernels);
      kernels += row.k.x * block;
    }
  }
}

// Computes `channels` channels x `vectors` vectors of voxels, from voxel x on.
template <int channels, int vectors>
void voxel_tile(const DirectRow& row, std::int64_t x) {
  Lanes sums[channels][vectors];
  for (int j = 0; j < channels; ++j) {
    for (int v = 0; v < vectors; ++v) sums[j][v] = Simd8::broadcast(row.bias[j]);
  }
  for_each_input_row(row, max_channels, [&](const float* in, const float* kernels) {
    const float* from = in + x;
    for (std::int64_t d = 0; d < row.k.x; ++d) {
      Lanes values[vectors];
      for (int v = 0; v < vectors; ++v) values[v] = Simd8::load(from + v * direct_lanes);
      for (int j = 0; j < channels; ++j) {
        const Lanes weight = Simd8::broadcast(kernels[j]);
        for (int v = 0; v < vectors; ++v) sums[j][v] += weight * values[v];
      }
      from += row.dilation.x;
      kernels += max_channels;
    }
  });
  for (int j = 0; j < channels; ++j) {
    for (int v = 0; v < vectors; ++v) {
      Simd8::store(row.out + j * row.out_f + x + v * direct_lanes, sums[j][v]);
    }
  }
}

// Computes `voxels` voxels, from voxel `first` on, x 8 channels. A row that is not strided is one tile.
template <int voxels, bool is_strided>
void channel_tile(const DirectRow& row, std::int64_t first) {
  const std::int64_t step = is_strided ? row.step : 1;
  Lanes sums[voxels];
  for (int x = 0; x < voxels; ++x) sums[x] = Simd8::load(row.bias);
  for_each_input_row(row, direct_lanes, [&](const float* in, const float* kernels) {
    in += first * step;
    for (std::int64_t d = 0; d < row.k.x; ++d) {
      const Lanes weights = Simd8::load(kernels);
      for (int x = 0; x < voxels; ++x) sums[x] += Simd8::broadcast(in[x * step]) * weights;
      in += row.dilation.x;
      kernels += direct_lanes;
    }
  });
  for (int x = 0; x < voxels; ++x) {
    float channels[direct_lanes];
    Simd8::store(channels, sums[x]);
    for (std::int64_t j = 0; j < row.channels; ++j) row.out[j * row.out_f + first + x] = channels[j];
  }
}

using Tile = void (*)(const DirectRow&, std::int64_t);

constexpr std::array<std::array<Tile, max_vectors>, max_channels> voxel_tiles = {{
    {voxel_tile<1, 1>, voxel_tile<1, 2>, voxel_tile<1, 3>},
    {voxel_tile<2, 1>, voxel_tile<2, 2>, voxel_tile<2, 3>},
    {voxel_tile<3, 1>, voxel_tile<3, 2>, voxel_tile<3, 3>},
    {voxel_tile<4, 1>, voxel_tile<4, 2>, voxel_tile<4, 3>},
}};

constexpr std::int64_t max_tile_voxels = direct_lanes - 1;

template <bool is_strided>
constexpr std::array<Tile, max_tile_voxels> channel_tiles = {
    channel_tile<1, is_strided>, channel_tile<2, is_strided>, channel_tile<3, is_strided>, channel_tile<4, is_strided>,
    channel_tile<5, is_strided>, channel_tile<6, is_strided>, channel_tile<7, is_strided>};

// Computes a strided row in tiles of nearly equal length.
void row_by_channels(const DirectRow& row) {
  const std::int64_t tile = direct_tile_voxels(row.voxels);
  for (std::int64_t x = 0; x < row.voxels; x += tile) {
    channel_tiles<true>[static_cast<std::size_t>(std::min(tile, row.voxels - x) - 1)](row, x);
  }
}

// Computes a row in tiles of up to 3 vectors. The last tile is moved back to end with the row and computes a few voxels
// twice.
void row_by_voxels(const DirectRow& row) {
  const auto& tiles = voxel_tiles[static_cast<std::size_t>(row.channels - 1)];
  for (std::int64_t x = 0; x < row.voxels;) {
    const std::int64_t vectors =
        std::min({std::int64_t{max_vectors}, div_up(row.voxels - x, direct_lanes), row.voxels / direct_lanes});
    const std::int64_t start = std::min(x, row.voxels - vectors * direct_lanes);
    tiles[static_cast<std::size_t>(vectors - 1)](row, start);
    x = start + vectors * direct_lanes;
  }
}

}  // namespace

bool is_tiled_by_voxels(std::int64_t voxels, std::int64_t step) { return voxels >= direct_lanes && step == 1; }

std::int64_t direct_block_channels(std::int64_t voxels, std::int64_t step) {
  return is_tiled_by_voxels(voxels, step) ? max_channels : direct_lanes;
}

std::int64_t direct_tile_voxels(std::int64_t voxels) { return div_up(voxels, div_up(voxels, max_tile_voxels)); }

void pack_direct_kernels(std::span<const float> kernels, std::int64_t terms, std::int64_t block,
                         std::span<float> packed) {
  std::fill(packed.begin(), packed.end(), 0.0F);
  const std::int64_t f_out = static_cast<std::int64_t>(kernels.size()) / terms;
  for (std::int64_t j = 0; j < f_out; ++j) {
    const float* from = kernels.data() + j * terms;
    float* to = packed.data() + j / block * block * terms + j % block;
    for (std::int64_t term = 0; term < terms; ++term) to[term * block] = from[term];
  }
}

void direct_row(const DirectRow& row) {
  if (row.step > 1) return row_by_channels(row);
  if (is_tiled_by_voxels(row.voxels, row.step)) return row_by_voxels(row);
  channel_tiles<false>[static_cast<std::size_t>(row.voxels - 1)](row, 0);
}

}  // namespace znni::cpu
