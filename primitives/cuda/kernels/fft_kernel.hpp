// Kernels around the transforms of a convolution by FFT. All return the launch's status.
#pragma once

#include <cuda_runtime_api.h>

#include "primitives/gpu/fft_element.hpp"

namespace znni::cuda {

// Cuts tiles out of `tensor`; every element of arg.columns tiles is written.
cudaError_t launch_read_tiles(const TileArg& arg, const float* tensor, float* tiles, cudaStream_t stream);

// Writes what is kept of tiles into `tensor`, as far as it lies within; arg.row_extent is grid.kept.
cudaError_t launch_write_tiles(const TileArg& arg, const TileEnd& end, const float* tiles, float* tensor,
                               cudaStream_t stream);

// Launches the copy of kernels into tiles; every element of arg.columns tiles is written.
cudaError_t launch_read_kernels(const KernelTileArg& arg, const float* kernels, float* tiles, cudaStream_t stream);

// Launches a transpose. `max_blocks`: the most blocks of the grid along columns. If there are more squares, a block
// takes several, one after the other.
cudaError_t launch_transpose(const TransposeArg& arg, const float2* from, float2* to, cudaStream_t stream,
                             Index max_blocks = 65535);

}  // namespace znni::cuda
