// What cuDNN is told of the GPU that it makes plans for. From a description it plans without a GPU.
#pragma once

#include <span>

#include "primitives/core/device.hpp"
#include "primitives/cuda/cudnn_descriptor.hpp"
#include "primitives/cuda/gpu_properties.hpp"
#include "primitives/gpu/notes.hpp"

namespace znni::cuda {

// Half-precision 3D convolutions of earlier releases gave wrong results; refused, with the version found.
inline constexpr std::size_t min_cudnn_version = 91500;
[[nodiscard]] Result<void> check_cudnn_version(std::size_t version);

// The description of a GPU as cuDNN writes it down itself (JSON).
[[nodiscard]] std::string cudnn_description(const GpuProperties& gpu);

// A finalised descriptor of the device that `spec` names. Of the GPU of that name among those that are `here` it is the
// driver's; where the driver gives none, it is ours where the limits are known, of compute capability 9.0. Without such
// a GPU it is that of h200() where that is its name; unsupported for others, which cannot be planned for without them.
// Whatever is not the driver's is added to `notes`.
[[nodiscard]] Result<CudnnDescriptor> cudnn_device(const DeviceSpec& spec, std::span<const GpuProperties> here,
                                                   Notes& notes);
// With the GPUs of this machine, which are read once, and the back end's notes.
[[nodiscard]] Result<CudnnDescriptor> cudnn_device(const DeviceSpec& spec);

}  // namespace znni::cuda
