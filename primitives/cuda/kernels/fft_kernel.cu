#include "primitives/cuda/kernels/fft_kernel.hpp"

#include "primitives/cuda/kernels/device_math.hpp"
#include "primitives/cuda/kernels/launch.hpp"

namespace znni::cuda {
namespace {

__device__ Index first_row() { return static_cast<Index>(blockIdx.x) * blockDim.y + threadIdx.y; }
__device__ Index row_step() { return static_cast<Index>(gridDim.x) * blockDim.y; }

__global__ void read_tiles(const TileArg arg, const float* __restrict__ tensor, float* __restrict__ tiles) {
  for (Index index = first_row(); index < tile_rows(arg); index += row_step()) {
    const TileRow row = tile_row(arg, index);
    for (int x = static_cast<int>(threadIdx.x); x < arg.row_extent.x; x += static_cast<int>(blockDim.x)) {
      tiles[row.in_tile + x] = tile_value(arg, row, x, tensor);
    }
  }
}

__global__ void write_tiles(const TileArg arg, const TileEnd end, const float* __restrict__ tiles, float* tensor) {
  for (Index index = first_row(); index < tile_rows(arg); index += row_step()) {
    const TileRow row = tile_row(arg, index);
    const Index residual = row.voxels > 0 ? residual_row(arg, end, row, index) : 0;
    for (int x = static_cast<int>(threadIdx.x); x < row.voxels; x += static_cast<int>(blockDim.x)) {
      tensor[row.in_tensor + x * arg.steps.x] =
          tile_end<DeviceMath>(end, tiles[row.in_tile + x], row.channel, residual + x * end.residual_steps.x);
    }
  }
}

__global__ void read_kernels(const KernelTileArg arg, const float* __restrict__ kernels, float* __restrict__ tiles) {
  for (Index index = first_row(); index < kernel_tile_rows(arg); index += row_step()) {
    for (int x = static_cast<int>(threadIdx.x); x < arg.tile.x; x += static_cast<int>(blockDim.x)) {
      tiles[index * arg.tile.x + x] = kernel_tile_value(arg, index, x, kernels);
    }
  }
}

constexpr int edge = 32;      // of the square that a block transposes
constexpr int edge_rows = 8;  // threads along its other axis

__global__ void transpose(const TransposeArg arg, const float2* __restrict__ from, float2* __restrict__ to) {
  __shared__ float2 square[edge][edge + 1];  // one column more: no two threads of a warp meet in a bank
  const Index row0 = static_cast<Index>(blockIdx.x) * edge;
  for (Index column0 = static_cast<Index>(blockIdx.y) * edge; column0 < arg.columns;
       column0 += static_cast<Index>(gridDim.y) * edge) {
    const Index column = column0 + threadIdx.x;
    for (int y = static_cast<int>(threadIdx.y); y < edge; y += edge_rows) {
      if (row0 + y < arg.rows && column < arg.columns) {
        square[y][threadIdx.x] = from[(row0 + y) * arg.from_step + column];
      }
    }
    __syncthreads();
    const Index row = row0 + threadIdx.x;
    for (int y = static_cast<int>(threadIdx.y); y < edge; y += edge_rows) {
      if (row < arg.rows && column0 + y < arg.columns) {
        to[(column0 + y) * arg.to_step + row] = square[threadIdx.x][y];
      }
    }
    __syncthreads();  // before the square is filled again
  }
}

}  // namespace

cudaError_t launch_read_tiles(const TileArg& arg, const float* tensor, float* tiles, cudaStream_t stream) {
  const BlockShape block = block_for(static_cast<int>(arg.row_extent.x));
  return launch_kernel(read_tiles, blocks_for(tile_rows(arg), block.y), dim3(block.x, block.y), stream, arg, tensor,
                       tiles);
}

cudaError_t launch_write_tiles(const TileArg& arg, const TileEnd& end, const float* tiles, float* tensor,
                               cudaStream_t stream) {
  const BlockShape block = block_for(static_cast<int>(arg.row_extent.x));
  return launch_kernel(write_tiles, blocks_for(tile_rows(arg), block.y), dim3(block.x, block.y), stream, arg, end,
                       tiles, tensor);
}

cudaError_t launch_read_kernels(const KernelTileArg& arg, const float* kernels, float* tiles, cudaStream_t stream) {
  const BlockShape block = block_for(static_cast<int>(arg.tile.x));
  return launch_kernel(read_kernels, blocks_for(kernel_tile_rows(arg), block.y), dim3(block.x, block.y), stream, arg,
                       kernels, tiles);
}

cudaError_t launch_transpose(const TransposeArg& arg, const float2* from, float2* to, cudaStream_t stream,
                             Index max_blocks) {
  const unsigned x = blocks_for(arg.rows, edge);
  const Index y = ceil_div(arg.columns, edge);
  return launch_kernel(transpose, dim3(x, static_cast<unsigned>(y < max_blocks ? y : max_blocks)),
                       dim3(edge, edge_rows), stream, arg, from, to);
}

}  // namespace znni::cuda
