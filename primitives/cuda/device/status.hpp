// The answers of CUDA's libraries as Results. Each message names the call or what it was for, the library's own name of
// the failure, and its words.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <cufft.h>

#include <string_view>

#include "primitives/core/result.hpp"

namespace znni::cuda {

// Fails with over_budget if memory ran out, with device_lost if the process has lost the GPU (lost_context.hpp), else
// with device_failure: the libraries tell no more. A failed call's status is cleared, so that the next launch is not
// blamed for it.
[[nodiscard]] Result<void> check(cudaError_t status, std::string_view what);
[[nodiscard]] Result<void> check(cufftResult status, std::string_view what);
[[nodiscard]] Result<void> check(cublasStatus_t status, std::string_view what);
// Fails with unsupported if the library declines a descriptor, else with device_failure; the error has the library's
// last message.
[[nodiscard]] Result<void> check(cudnnStatus_t status, std::string_view what);

}  // namespace znni::cuda
