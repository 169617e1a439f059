// How well a convolution in sub-layers hides its copies behind its products.
#pragma once

#include "primitives/cuda/device/cuda_device.hpp"

namespace znni::gpu_bench {

// Times a convolution of 80 channels from host RAM, by each primitive that computes its parts, in each format that it
// takes: the whole, its products alone and its copies alone; prints lines. Needs budgets of 3 GiB of host memory, 3 of
// pinned and 8 of device memory.
[[nodiscard]] Result<void> measure_divided(cuda::CudaDevice& device);

}  // namespace znni::gpu_bench
