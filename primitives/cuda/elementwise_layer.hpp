// Prepared layers of what passes over its tensors once.
#pragma once

#include <memory>

#include "primitives/core/primitive.hpp"
#include "primitives/cuda/cuda_device.hpp"

namespace znni::cuda {

// out = activation(scale in0 + shift + in1 + ...). `scale` and `shift`: device memory, one float per image, or null.
[[nodiscard]] Result<std::unique_ptr<PreparedLayer>> make_elementwise_layer(Device& device, Activation activation,
                                                                            const float* scale = nullptr,
                                                                            const float* shift = nullptr);

// Floats into the persistent buffer `name` of device memory, zeros where `values` is empty; returns where they lie.
[[nodiscard]] Result<float*> load_floats(CudaDevice& device, Arena& persistent, std::string_view name,
                                         std::span<const float> values);

}  // namespace znni::cuda
