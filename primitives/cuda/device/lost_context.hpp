// The failures of CUDA that no call of the same process mends.
#pragma once

#include <cuda_runtime_api.h>

namespace znni::cuda {

// Returns true if the process has lost the GPU by such a failure. Every later call then repeats it, and only another
// process can use CUDA again.
[[nodiscard]] bool loses_context(cudaError_t status);

}  // namespace znni::cuda
