// Launches kernels: included by .cu files alone.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

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

// Does the same with `shared_bytes` of shared memory for each block, beside what the kernel declares.
template <class... Parameters, class... Arguments>
cudaError_t launch_kernel_sharing(int shared_bytes, void (*kernel)(Parameters...), dim3 grid, dim3 block,
                                  cudaStream_t stream, Arguments... arguments) {
  const cudaError_t allowed = cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                                   cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  if (allowed != cudaSuccess) return allowed;
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = static_cast<std::size_t>(shared_bytes);
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

}  // namespace znni::cuda
