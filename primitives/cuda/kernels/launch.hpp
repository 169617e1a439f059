// Launches kernels: included by .cu files alone.
#pragma once

#include <cuda_runtime.h>

namespace znni::cuda {

// Launches `kernel` on `stream` with its arguments, by a function instead of CUDA's syntax: any C++ compiler reads it.
// Returns the launch's status.
template <class... Parameters, class... Arguments>
cudaError_t launch_kernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, cudaStream_t stream,
                          Arguments... arguments) {
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

}  // namespace znni::cuda
