// Reorders and conversions on the device.
#pragma once

#include <cuda_runtime_api.h>

#include "primitives/gpu/elementwise/reorder_element.hpp"
#include "primitives/gpu/storage.hpp"

namespace znni::cuda {

// Launches a reorder from f32, f16 or bf16 to any type (u8: probabilities, element.hpp). Returns the launch's status.
cudaError_t launch_reorder(const ReorderArg& arg, Storage from_type, const void* from, Storage to_type, void* to,
                           cudaStream_t stream);

}  // namespace znni::cuda
