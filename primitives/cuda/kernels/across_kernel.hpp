// The kernel of layers that make each voxel of its channels.
#pragma once

#include <cuda_runtime_api.h>

#include "primitives/gpu/elementwise/across_element.hpp"
#include "primitives/gpu/storage.hpp"

namespace znni::cuda {

// Launches a kernel, one thread per voxel. Returns the launch's status.
cudaError_t launch_across(const AcrossArg& arg, Storage storage, const void* in, void* out, cudaStream_t stream);

}  // namespace znni::cuda
