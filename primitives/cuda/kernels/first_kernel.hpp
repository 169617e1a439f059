// Convolutions of few channels.
#pragma once

#include <cuda_runtime_api.h>

#include "primitives/gpu/first_element.hpp"
#include "primitives/gpu/storage.hpp"

namespace znni::cuda {

// Launches the first convolution. `in`: float32; `weights`: [i][k.z][k.y][k.x][channels of the output, padded with
// zeros to sixteens], aligned to 16 bytes; `bias`: as many floats. Returns the launch's status.
cudaError_t launch_first(const FirstArg& arg, Storage out_type, const float* in, const float* weights,
                         const float* bias, void* out, cudaStream_t stream);

}  // namespace znni::cuda
