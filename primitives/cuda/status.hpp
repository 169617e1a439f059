// What the libraries of CUDA say, as Results. Each message names the call or what it was for, the library's own name of
// the failure, and its words.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <cufft.h>

#include <string_view>

#include "primitives/core/result.hpp"

namespace znni::cuda {

// over_budget where memory ran out, device_lost where the process has lost the GPU (lost_context.hpp), else
// device_failure, which is all that the libraries tell. A failed call's status is cleared, so that the next launch is
// not blamed for it.
[[nodiscard]] Result<void> check(cudaError_t status, std::string_view what);
[[nodiscard]] Result<void> check(cufftResult status, std::string_view what);
[[nodiscard]] Result<void> check(cublasStatus_t status, std::string_view what);
// unsupported where the library declines a descriptor, else device_failure; with the library's last message.
[[nodiscard]] Result<void> check(cudnnStatus_t status, std::string_view what);

}  // namespace znni::cuda
