// The needs of a launch of the emulation beside the kernel: the grid, the barrier of a block, and the checks of
// parameters.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <source_location>
#include <type_traits>

#include "tests/cuda_emulation/device_memory.hpp"
#include "tests/cuda_emulation/last_error.hpp"

namespace znni::cuda_emulation {

// Calls `kernel` for every thread of every block, blocks one after the other. Every second launch takes blocks and
// threads in reverse: what depends on their order differs from one run to the next. cudaErrorInvalidConfiguration where
// a GPU would not take the grid, cudaErrorLaunchFailure where threads of a block do not meet at the same barrier.
cudaError_t run_grid(const cudaLaunchConfig_t& config, const std::function<void()>& kernel);

// Waits until all threads of the block are here: __syncthreads().
void wait_for_block(const std::source_location& at);

// Returns the memory of a block whose size the launch gave. It holds NaNs when the launch begins.
void* launched_shared_memory();

// Checks that `kernel` may have so many bytes of it: 48 KiB, or what was allowed with cudaFuncSetAttribute().
cudaError_t check_shared_memory(const void* kernel, std::size_t bytes);

// Checks a parameter of a kernel as the GPU would its use: a pointer that is not null points to device memory, and is
// aligned to its elements.
template <class T>
cudaError_t check_parameter(const T& parameter) {
  if constexpr (std::is_pointer_v<T>) {
    if (parameter == nullptr) return cudaSuccess;
    if (!device_memory().holds(parameter, 1)) return cudaErrorIllegalAddress;
    if (reinterpret_cast<std::uintptr_t>(parameter) % alignof(std::remove_pointer_t<T>) != 0) {
      return cudaErrorMisalignedAddress;
    }
  }
  return cudaSuccess;
}

inline cudaError_t first_failure(std::initializer_list<cudaError_t> statuses) {
  for (const cudaError_t status : statuses) {
    if (status != cudaSuccess) return status;
  }
  return cudaSuccess;
}

}  // namespace znni::cuda_emulation
