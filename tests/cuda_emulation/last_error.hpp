// The last failure of a call, as CUDA's runtime keeps it.
#pragma once

#include <cuda_runtime_api.h>

namespace znni::cuda_emulation {

// Keeps `status` for cudaGetLastError() unless it is cudaSuccess. Returns it.
cudaError_t fail(cudaError_t status);

}  // namespace znni::cuda_emulation
