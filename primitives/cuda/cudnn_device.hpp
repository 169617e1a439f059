// What cuDNN is told of the GPU that it makes plans for. From a description it plans without a GPU.
#pragma once

#include "primitives/core/device.hpp"
#include "primitives/cuda/cudnn_descriptor.hpp"
#include "primitives/cuda/gpu_properties.hpp"

namespace znni::cuda {

// Half-precision 3D convolutions of earlier releases gave wrong results; refused, with the version found.
inline constexpr std::size_t least_cudnn_version = 91500;
[[nodiscard]] Result<void> check_cudnn_version(std::size_t version);

// The description of a GPU as cuDNN writes it down itself (JSON).
[[nodiscard]] std::string cudnn_description(const GpuProperties& gpu);

// A finalised descriptor of the device that `spec` names: the GPU of that name where this machine has one, else the
// description of h200() where that is its name; unsupported for others, which cannot be planned for without them.
[[nodiscard]] Result<CudnnDescriptor> cudnn_device(const DeviceSpec& spec);

}  // namespace znni::cuda
