// Convolution with strides and groups.
#pragma once

#include <cuda_runtime_api.h>

#include "primitives/gpu/direct_element.hpp"
#include "primitives/gpu/storage.hpp"

namespace znni::cuda {

// Launches a convolution of tensors of `storage`, by blocks of `channels`: 1 or 4. `residual` may be null. Returns the
// launch's status.
cudaError_t launch_direct(const DirectArg& arg, Storage storage, int channels, const DirectData<void>& data,
                          cudaStream_t stream);

}  // namespace znni::cuda
