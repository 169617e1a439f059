#include "primitives/cuda/device/lost_context.hpp"

#include <algorithm>
#include <array>

namespace znni::cuda {

bool loses_context(cudaError_t status) {
  // Statuses after which the process must be started again, as CUDA's documentation says, and faults of memory and
  // links, which leave the context as dead.
  static constexpr std::array lost = {
      cudaErrorECCUncorrectable,    cudaErrorNvlinkUncorrectable, cudaErrorContained,
      cudaErrorIllegalAddress,      cudaErrorLaunchTimeout,       cudaErrorAssert,
      cudaErrorHardwareStackError,  cudaErrorIllegalInstruction,  cudaErrorMisalignedAddress,
      cudaErrorInvalidAddressSpace, cudaErrorInvalidPc,           cudaErrorLaunchFailure,
      cudaErrorTensorMemoryLeak,    cudaErrorMpsClientTerminated, cudaErrorExternalDevice};
  return std::find(lost.begin(), lost.end(), status) != lost.end();
}

}  // namespace znni::cuda
