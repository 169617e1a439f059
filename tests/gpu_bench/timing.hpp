// Time on the device's own clock.
#pragma once

#include <functional>

#include "primitives/cuda/device/cuda_device.hpp"

namespace znni::gpu_bench {

using Work = std::function<Result<void>()>;

// Returns the median of `repetitions` timings of `work` on Stream::compute, after `warm_up` runs that do not count.
[[nodiscard]] Result<double> median_seconds(cuda::CudaDevice& device, const Work& work, int repetitions = 10,
                                            int warm_up = 3);

}  // namespace znni::gpu_bench
