#include "primitives/cuda/device/status.hpp"

#include <array>
#include <string>

#include "primitives/cuda/device/lost_context.hpp"

namespace znni::cuda {
namespace {

Error failure(ErrorCode code, std::string_view what, std::string_view reason) {
  return {code, std::string(what) + ": " + std::string(reason)};
}

// Returns `text` as one line, because the library's messages may hold several.
std::string one_line(std::string text) {
  for (char& letter : text) {
    if (letter == '\n') letter = ' ';
  }
  return text;
}

ErrorCode code_of(cudaError_t status) {
  if (status == cudaErrorMemoryAllocation) return ErrorCode::over_budget;
  return loses_context(status) ? ErrorCode::device_lost : ErrorCode::device_failure;
}

std::string_view name_of(cufftResult status) {
  switch (status) {
    case CUFFT_INVALID_PLAN: return "CUFFT_INVALID_PLAN";
    case CUFFT_ALLOC_FAILED: return "CUFFT_ALLOC_FAILED";
    case CUFFT_INVALID_TYPE: return "CUFFT_INVALID_TYPE";
    case CUFFT_INVALID_VALUE: return "CUFFT_INVALID_VALUE";
    case CUFFT_INTERNAL_ERROR: return "CUFFT_INTERNAL_ERROR";
    case CUFFT_EXEC_FAILED: return "CUFFT_EXEC_FAILED";
    case CUFFT_SETUP_FAILED: return "CUFFT_SETUP_FAILED";
    case CUFFT_INVALID_SIZE: return "CUFFT_INVALID_SIZE";
    default: return "an error of cuFFT";
  }
}

}  // namespace

Result<void> check(cudaError_t status, std::string_view what) {
  if (status == cudaSuccess) return {};
  static_cast<void>(cudaGetLastError());
  return failure(code_of(status), what, std::string(cudaGetErrorName(status)) + ", " + cudaGetErrorString(status));
}

Result<void> check(cufftResult status, std::string_view what) {
  if (status == CUFFT_SUCCESS) return {};
  const ErrorCode code = status == CUFFT_ALLOC_FAILED ? ErrorCode::over_budget : ErrorCode::device_failure;
  return failure(code, what, std::string(name_of(status)) + " (" + std::to_string(status) + ")");
}

Result<void> check(cublasStatus_t status, std::string_view what) {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  const ErrorCode code = status == CUBLAS_STATUS_ALLOC_FAILED ? ErrorCode::over_budget : ErrorCode::device_failure;
  return failure(code, what, std::string(cublasGetStatusName(status)) + ", " + cublasGetStatusString(status));
}

Result<void> check(cudnnStatus_t status, std::string_view what) {
  if (status == CUDNN_STATUS_SUCCESS) return {};
  std::array<char, 1024> message{};
  cudnnGetLastErrorString(message.data(), message.size());
  const int category = static_cast<int>(status) / 1000;  // 2: bad parameter, 3: not supported
  const ErrorCode code = category == 2 || category == 3 ? ErrorCode::unsupported : ErrorCode::device_failure;
  return failure(code, what, one_line(std::string(cudnnGetErrorString(status)) + " " + message.data()));
}

}  // namespace znni::cuda
