// Kernels that pass over their tensors once.
#pragma once

#include <cuda_runtime_api.h>

#include "primitives/gpu/elementwise/elementwise_element.hpp"
#include "primitives/gpu/elementwise/multiply_element.hpp"
#include "primitives/gpu/storage.hpp"

namespace znni::cuda {

// Launches a kernel. arg.width is 1, or 16 bytes' worth of `storage` if all pointers and steps allow it. Returns the
// launch's status.
cudaError_t launch_elementwise(const ElementwiseArg& arg, Storage storage, cudaStream_t stream);

// Launches a product or a quotient, with the same meaning of arg.width.
cudaError_t launch_multiply(const MultiplyArg& arg, Storage storage, cudaStream_t stream);

}  // namespace znni::cuda
