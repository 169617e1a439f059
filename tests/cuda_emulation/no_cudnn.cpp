// cuDNN that takes nothing: of a release that the back end refuses. Its handle can be made, as the device does.
#include <cudnn.h>

#include "tests/cuda_emulation/library_handles.hpp"

namespace emulation = znni::cuda_emulation;

std::size_t cudnnGetVersion() { return 0; }

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  *handle = reinterpret_cast<cudnnHandle_t>(new char);
  ++emulation::library_handles();
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete reinterpret_cast<char*>(handle);
  --emulation::library_handles();
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t) { return CUDNN_STATUS_SUCCESS; }
