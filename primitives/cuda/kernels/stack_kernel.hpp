// Stacks of poolings and what follows them voxel by voxel: some links of one in a launch.
#pragma once

#include <cuda_runtime_api.h>

#include "primitives/gpu/stack_element.hpp"
#include "primitives/gpu/storage.hpp"

namespace znni::cuda {

// Launches the links of `stack`. Returns the launch's status.
cudaError_t launch_stack(const StackArg& stack, Storage storage, const void* in, void* out, cudaStream_t stream);

}  // namespace znni::cuda
