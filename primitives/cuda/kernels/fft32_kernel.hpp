// Transforms of 32^3 tiles by kernels of our own (fft32_element.hpp). All return the launch's status; nothing is
// allocated. Spectra are [z frequency][y][x, 17 of them][column], `columns` of them per frequency.
#pragma once

#include <cuda_runtime_api.h>

#include "primitives/gpu/fft_element.hpp"

namespace znni::cuda {

// Launches both passes forward, of `tiles` tiles: every element of the spectra is written. arg.row_extent is the tile.
cudaError_t launch_fft32(const TileArg& arg, Index tiles, const float* tensor, float2* spectra, cudaStream_t stream);
// Launches the same for arg.pairs kernels, each a column.
cudaError_t launch_fft32_kernels(const KernelTileArg& arg, const float* kernels, float2* spectra, cudaStream_t stream);
// Launches both passes back, which spoil the spectra. arg.row_extent is what is kept of a tile.
cudaError_t launch_fft32_back(const TileArg& arg, const TileEnd& end, Index tiles, float2* spectra, float* tensor,
                              cudaStream_t stream);

}  // namespace znni::cuda
