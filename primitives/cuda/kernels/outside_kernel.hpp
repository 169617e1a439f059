// Sets what stands for padding.
#pragma once

#include <cuda_runtime_api.h>

#include "primitives/gpu/outside_element.hpp"
#include "primitives/gpu/storage.hpp"

namespace znni::cuda {

// Launches a fill of the tensor at `data`, in place. Returns the launch's status.
cudaError_t launch_outside(const OutsideArg& arg, Storage storage, void* data, cudaStream_t stream);

}  // namespace znni::cuda
