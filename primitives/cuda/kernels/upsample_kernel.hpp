// All kinds of upsampling in one kernel.
#pragma once

#include <cuda_runtime_api.h>

#include "primitives/gpu/elementwise/upsample_element.hpp"
#include "primitives/gpu/storage.hpp"

namespace znni::cuda {

// Launches an upsampling. A vector has `width` elements of `storage`: 1, or 16 bytes' worth (then steps, rows and
// channels count vectors and both pointers are aligned to 16 bytes). Returns the launch's status.
cudaError_t launch_upsample(const UpsampleArg& arg, Storage storage, int width, const void* in, void* out,
                            cudaStream_t stream);

}  // namespace znni::cuda
