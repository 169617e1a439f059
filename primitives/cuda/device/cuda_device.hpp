// One GPU as an Accelerator. When it is opened, it allocates the whole budget at once. Every block of device memory is
// cut from that, the work areas of cuDNN, cuFFT and cuBLAS included. What the driver's context and the libraries'
// handles take for themselves comes on top, and is counted by overhead_bytes().
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <algorithm>
#include <memory>

#include "primitives/core/accelerator.hpp"
#include "primitives/core/primitive.hpp"
#include "primitives/cuda/device/gpu_properties.hpp"

namespace znni::cuda {

// The services that primitives of this folder need beyond the Accelerator. Every prepare() of the folder takes one.
class CudaDevice : public Accelerator {
 public:
  // Makes the device current in the calling thread: before any call of the runtime or of a library.
  [[nodiscard]] virtual Result<void> activate() = 0;
  [[nodiscard]] virtual cudaStream_t stream(Stream which) const = 0;
  // Return the libraries' handles, made at the first call and bound to Stream::compute. The device owns them.
  [[nodiscard]] virtual Result<cublasHandle_t> blas() = 0;
  [[nodiscard]] virtual Result<cudnnHandle_t> dnn() = 0;
  // Returns the device memory of the process outside the budget: context, code, handles.
  [[nodiscard]] virtual Result<std::int64_t> overhead_bytes() = 0;
};

// Returns how many of so many processors copy between plain and pinned memory. One alone would keep the link waiting,
// and many more the host's memory. Assumed until measured.
[[nodiscard]] constexpr int staging_threads(int processors) { return std::clamp(processors, 1, 8); }

// Opens GPU `gpu`. Fails with over_budget if the GPU has less memory free. `host_budget` is of plain host memory,
// `pinned_budget` of page-locked host memory, which is locked when it is reserved. `processors`: of the host, that may
// serve it.
[[nodiscard]] Result<std::unique_ptr<CudaDevice>> open_cuda_device(const GpuProperties& gpu, std::int64_t host_budget,
                                                                   std::int64_t pinned_budget,
                                                                   std::int64_t device_budget, int processors);

// Returns the device as the type that open_cuda_device() made. Fails with invalid_argument for any other.
[[nodiscard]] Result<CudaDevice*> as_cuda(Device& device);

// Implements Primitive::prepare for layers that are made of the device alone.
template <class Layer>
Result<std::unique_ptr<PreparedLayer>> prepare_bare(const LayerProblem&, const Estimate&, const LayerWeights&, Arena&,
                                                    Device& device) {
  const Result<CudaDevice*> cuda = as_cuda(device);
  if (!cuda) return cuda.error();
  return std::unique_ptr<PreparedLayer>(std::make_unique<Layer>(**cuda));
}

}  // namespace znni::cuda
