#include "tests/cuda_emulation/last_error.hpp"

namespace znni::cuda_emulation {
namespace {

thread_local cudaError_t last = cudaSuccess;

}  // namespace

cudaError_t fail(cudaError_t status) {
  if (status != cudaSuccess) last = status;
  return status;
}

}  // namespace znni::cuda_emulation

cudaError_t cudaGetLastError() {
  const cudaError_t status = znni::cuda_emulation::last;
  znni::cuda_emulation::last = cudaSuccess;
  return status;
}

// Returns the names of the statuses that the emulation gives.
const char* cudaGetErrorName(cudaError_t status) {
  switch (status) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
    case cudaErrorInvalidPitchValue: return "cudaErrorInvalidPitchValue";
    case cudaErrorInvalidMemcpyDirection: return "cudaErrorInvalidMemcpyDirection";
    case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
    case cudaErrorInvalidResourceHandle: return "cudaErrorInvalidResourceHandle";
    case cudaErrorIllegalAddress: return "cudaErrorIllegalAddress";
    case cudaErrorMisalignedAddress: return "cudaErrorMisalignedAddress";
    case cudaErrorLaunchFailure: return "cudaErrorLaunchFailure";
    default: return "a status that the emulation does not give";
  }
}

const char* cudaGetErrorString(cudaError_t) { return "said by the emulation of CUDA"; }
