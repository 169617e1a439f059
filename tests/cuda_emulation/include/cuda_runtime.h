// Takes the place of CUDA's header of this name where the host's compiler reads .cu files: kernels are functions, and a
// launch calls one of them for every thread of the grid. It is read before a .cu file, as nvcc reads CUDA's own.
#pragma once

#include <cuda_runtime_api.h>

#include <cmath>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tests/cuda_emulation/launch.hpp"

// CUDA's keywords. Blocks run one after the other: what a block shares is one variable of the program.
#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __launch_bounds__
#undef __noinline__
#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __launch_bounds__(...)
#define __noinline__ __attribute__((noinline))

extern constinit thread_local uint3 threadIdx;
extern constinit thread_local uint3 blockIdx;
extern dim3 blockDim;
extern dim3 gridDim;

// Waits at a barrier. `at` tells barriers apart.
inline void __syncthreads(std::source_location at = std::source_location::current()) {
  znni::cuda_emulation::wait_for_block(at);
}

// Runs the kernel to its end. Stands for CUDA's function of this name: the same arguments, converted to the kernel's
// parameters, and the same statuses.
template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  const std::tuple<Parameters...> parameters(std::forward<Arguments>(arguments)...);
  const cudaError_t usable = std::apply(
      [](const auto&... each) { return znni::cuda_emulation::first_failure({znni::cuda_emulation::check_parameter(each)...}); }, parameters);
  if (usable != cudaSuccess) return znni::cuda_emulation::fail(usable);
  const cudaError_t shared =
      znni::cuda_emulation::check_shared_memory(reinterpret_cast<const void*>(kernel), config->dynamicSmemBytes);
  if (shared != cudaSuccess) return znni::cuda_emulation::fail(shared);
  return znni::cuda_emulation::run_grid(*config, [&] { std::apply(kernel, parameters); });
}
