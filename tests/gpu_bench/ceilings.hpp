// The ceilings of the GPU, its memory and its link.
#pragma once

#include "primitives/cuda/device/cuda_device.hpp"

namespace znni::gpu_bench {

// Needs budgets of 4 GiB of device and 2 GiB of pinned memory; prints lines.
[[nodiscard]] Result<void> measure_ceilings(cuda::CudaDevice& device);

}  // namespace znni::gpu_bench
