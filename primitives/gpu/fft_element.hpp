// Overlap-save tiles of a convolution by FFT, per element. Every channel is cut into tiles of `tile` voxels that
// overlap by the kernel's extent - 1, each giving `kept` outputs per axis; tiles beyond the channel read zeros. A
// transform's column is one channel of one tile: column = tile * channels + channel.
#pragma once

#include "primitives/gpu/activate.hpp"
#include "primitives/gpu/kernel_types.hpp"

namespace znni::cuda {

struct TileGrid {
  Index S = 1;
  Extent tile;   // extents of the transform
  Extent kept;   // tile - dilation (k - 1)
  Extent tiles;  // per channel and axis
};
constexpr Index tile_count(const TileGrid& grid) { return grid.S * voxels_of(grid.tiles); }

struct TilePlace {
  Index s = 0;
  Extent start;  // first voxel in the input, and in the output
};
constexpr TilePlace tile_place(const TileGrid& grid, Index tile) {
  const Index x = tile % grid.tiles.x;
  const Index y = tile / grid.tiles.x % grid.tiles.y;
  const Index z = tile / (grid.tiles.x * grid.tiles.y) % grid.tiles.z;
  return {tile / voxels_of(grid.tiles), {z * grid.kept.z, y * grid.kept.y, x * grid.kept.x}};
}

// Planar float32 tensors on the one side, dense real tiles [column][z][y][x] on the other.
struct TileArg {
  TileGrid grid;
  Index channels = 1;
  Extent n;           // of the tensor
  Steps steps;        // of the tensor
  Index first = 0;    // column of the first tile in the buffer
  Index columns = 1;  // in the buffer
  Extent row_extent;  // voxels of a tile that are visited: the tile (reading), what is kept (writing)
};
// Returns the rows of tiles: [column][z][y] of row_extent.
constexpr Index tile_rows(const TileArg& arg) { return arg.columns * arg.row_extent.z * arg.row_extent.y; }

struct TileRow {
  Index in_tile = 0;    // element of the buffer of x = 0
  Index in_tensor = 0;  // element of the tensor of x = 0
  Index channel = 0;
  Index voxels = 0;  // of the row that lie within the tensor, from x = 0 on; 0 where the row lies outside
};
constexpr TileRow tile_row(const TileArg& arg, Index index) {
  const Index y = index % arg.row_extent.y;
  const Index z = index / arg.row_extent.y % arg.row_extent.z;
  const Index local = index / (arg.row_extent.y * arg.row_extent.z);
  const Index column = arg.first + local;
  const Index tile = column / arg.channels;
  const Extent t = arg.grid.tile;
  TileRow row;
  row.channel = column % arg.channels;
  row.in_tile = ((local * t.z + z) * t.y + y) * t.x;
  if (tile >= tile_count(arg.grid)) return row;
  const TilePlace place = tile_place(arg.grid, tile);
  const Index at_z = place.start.z + z;
  const Index at_y = place.start.y + y;
  if (at_z >= arg.n.z || at_y >= arg.n.y || place.start.x >= arg.n.x) return row;
  row.in_tensor = place.s * arg.steps.S + row.channel * arg.steps.f + at_z * arg.steps.z + at_y * arg.steps.y +
                  place.start.x * arg.steps.x;
  const Index left = arg.n.x - place.start.x;
  row.voxels = left < arg.row_extent.x ? left : arg.row_extent.x;
  return row;
}

// Returns element x of a row of a tile that is read: the tensor's, zero beyond it.
constexpr float tile_value(const TileArg& arg, const TileRow& row, int x, const float* tensor) {
  return x < row.voxels ? tensor[row.in_tensor + x * arg.steps.x] : 0.0F;
}

// The end of the convolution, applied when a tile is written.
struct TileEnd {
  float scale = 1.0F;               // of the transforms: 1 / voxels of a tile
  const float* bias = nullptr;      // per channel; null: zeros
  const float* residual = nullptr;  // null: none
  Steps residual_steps;
  Act act = Act::none;
  float alpha = 0.0F;
};
// Returns the offset in the residual of the first voxel of a row of the output.
constexpr Index residual_row(const TileArg& arg, const TileEnd& end, const TileRow& row, Index index) {
  const Index y = index % arg.row_extent.y;
  const Index z = index / arg.row_extent.y % arg.row_extent.z;
  const Index column = arg.first + index / (arg.row_extent.y * arg.row_extent.z);
  const TilePlace place = tile_place(arg.grid, column / arg.channels);
  const Steps& steps = end.residual_steps;
  return place.s * steps.S + row.channel * steps.f + (place.start.z + z) * steps.z + (place.start.y + y) * steps.y +
         place.start.x * steps.x;
}
template <class Math>
constexpr float tile_end(const TileEnd& end, float value, Index channel, Index residual_at) {
  float sum = value * end.scale + (end.bias == nullptr ? 0.0F : end.bias[channel]);
  if (end.residual != nullptr) sum += end.residual[residual_at];
  return activate<Math>(end.act, end.alpha, sum);
}

// Kernels [pair][k.z][k.y][k.x] (pair = channel of the output * f + channel of the input) put at the origin of tiles,
// their taps `dilation` apart.
struct KernelTileArg {
  Extent tile;
  Extent k;
  Extent dilation;
  Index first = 0;    // pair
  Index columns = 1;  // tiles in the buffer
  Index pairs = 1;    // beyond them: zeros
};
constexpr Index kernel_tile_rows(const KernelTileArg& arg) { return arg.columns * arg.tile.z * arg.tile.y; }
constexpr float kernel_tile_value(const KernelTileArg& arg, Index index, int x, const float* kernels) {
  const Index y = index % arg.tile.y;
  const Index z = index / arg.tile.y % arg.tile.z;
  const Index pair = arg.first + index / (arg.tile.y * arg.tile.z);
  if (pair >= arg.pairs || z % arg.dilation.z != 0 || y % arg.dilation.y != 0 || x % arg.dilation.x != 0) return 0.0F;
  const Extent tap{z / arg.dilation.z, y / arg.dilation.y, x / arg.dilation.x};
  if (tap.z >= arg.k.z || tap.y >= arg.k.y || tap.x >= arg.k.x) return 0.0F;
  return kernels[((pair * arg.k.z + tap.z) * arg.k.y + tap.y) * arg.k.x + tap.x];
}

// A matrix of complex numbers [rows][columns], rows `from_step` apart, into its transpose, rows `to_step` apart.
struct TransposeArg {
  Index rows = 1;
  Index columns = 1;
  Index from_step = 1;
  Index to_step = 1;
};

}  // namespace znni::cuda
