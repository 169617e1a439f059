// The description of the GPU for which cuDNN makes plans. From a description it plans without a GPU.
#pragma once

#include <span>

#include "primitives/core/device.hpp"
#include "primitives/cuda/conv/cudnn_descriptor.hpp"
#include "primitives/cuda/device/gpu_properties.hpp"
#include "primitives/gpu/notes.hpp"

namespace znni::cuda {

// Half-precision 3D convolutions of earlier releases gave wrong results; refused, with the version found.
inline constexpr std::size_t min_cudnn_version = 91500;
[[nodiscard]] Result<void> check_cudnn_version(std::size_t version);

// Returns the description of a GPU as cuDNN itself writes it (JSON).
[[nodiscard]] std::string cudnn_description(const GpuProperties& gpu);

// Returns a finalised descriptor of the device that `spec` names. If a GPU of that name is among those that are `here`,
// it is the driver's; if the driver gives none, it is ours if the limits are known, of compute capability 9.0. Without
// such a GPU it is that of h200() if that is its name. Fails with unsupported for others, which cannot be planned for
// without them. Whatever is not the driver's is added to `notes`.
[[nodiscard]] Result<CudnnDescriptor> cudnn_device(const DeviceSpec& spec, std::span<const GpuProperties> here,
                                                   Notes& notes);
// Returns the same with the GPUs of this machine, which are read once, and the back end's notes.
[[nodiscard]] Result<CudnnDescriptor> cudnn_device(const DeviceSpec& spec);

}  // namespace znni::cuda
