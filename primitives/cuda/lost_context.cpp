#include "primitives/cuda/lost_context.hpp"

#include <algorithm>
#include <array>

namespace znni::cuda {

bool loses_context(cudaError_t status) {
  // Those of which CUDA's documentation says that the process must be started again, and faults of memory and links,
  // which leave the context as dead.
  static constexpr std::array lost = {
      cudaErrorECCUncorrectable,    cudaErrorNvlinkUncorrectable, cudaErrorContained,
      cudaErrorIllegalAddress,      cudaErrorLaunchTimeout,       cudaErrorAssert,
      cudaErrorHardwareStackError,  cudaErrorIllegalInstruction,  cudaErrorMisalignedAddress,
      cudaErrorInvalidAddressSpace, cudaErrorInvalidPc,           cudaErrorLaunchFailure,
      cudaErrorTensorMemoryLeak,    cudaErrorMpsClientTerminated, cudaErrorExternalDevice};
  return std::find(lost.begin(), lost.end(), status) != lost.end();
}

}  // namespace znni::cuda
