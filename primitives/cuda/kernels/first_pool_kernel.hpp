// Convolutions of few channels and the max pooling behind them.
#pragma once

#include <cuda_runtime_api.h>

#include "primitives/gpu/first_pool_element.hpp"
#include "primitives/gpu/storage.hpp"

namespace znni::cuda {

// Launches the first convolution with its pooling. `in`, `weights` and `bias` as of launch_first(). Returns the
// launch's status; cudaErrorInvalidValue for more than first_pool_window planes of a window, or 2^31 - 1 blocks.
cudaError_t launch_first_pool(const FirstPoolArg& arg, Storage out_type, const float* in, const float* weights,
                              const float* bias, void* out, cudaStream_t stream);

}  // namespace znni::cuda
