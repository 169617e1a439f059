// All fragments of a pooling (or a plain one) in one kernel.
#pragma once

#include <cuda_runtime_api.h>

#include "primitives/gpu/pool_element.hpp"
#include "primitives/gpu/storage.hpp"

namespace znni::cuda {

// Launches a pooling. A vector has `width` elements of `storage`: 1, or 16 bytes' worth (then pool.in, pool.out and
// rows count vectors and both pointers are aligned to 16 bytes). Returns the launch's status.
cudaError_t launch_pool(const PoolArg& pool, Storage storage, int width, const void* in, void* out,
                        cudaStream_t stream);

}  // namespace znni::cuda
