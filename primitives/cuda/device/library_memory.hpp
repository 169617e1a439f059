// Measures what the driver's context and CUDA's libraries take of a GPU's own memory.
#pragma once

#include "primitives/core/primitive.hpp"
#include "primitives/cuda/device/gpu_properties.hpp"

namespace znni::cuda {

// Stands for code that the libraries load when a kernel is first launched. Assumed until measured.
inline constexpr std::int64_t late_code_bytes = std::int64_t{256} << 20;

// Makes the context, which stays, and reads what is free then; makes the libraries' handles to see how much they take,
// and frees them. Takes a second or so. Fails with device_failure if the GPU or a library refuses, with device_lost if
// only another process can use it.
[[nodiscard]] Result<GpuMemory> measure_memory(const GpuProperties& gpu);

}  // namespace znni::cuda
