// Prepared layers of what passes over its tensors once.
#pragma once

#include <memory>

#include "primitives/core/primitive.hpp"
#include "primitives/cuda/device/cuda_device.hpp"
#include "primitives/gpu/elementwise/elementwise_element.hpp"

namespace znni::cuda {

// Returns the layer that elementwise_element() describes. `of`: device memory, kept by the caller.
[[nodiscard]] Result<std::unique_ptr<PreparedLayer>> make_elementwise_layer(Device& device, Activation activation,
                                                                            const PerChannel& of = {});

// Loads floats into the persistent buffer `name` of device memory, zeros if `values` is empty. Returns where they lie.
[[nodiscard]] Result<float*> load_floats(CudaDevice& device, Arena& persistent, std::string_view name,
                                         std::span<const float> values);

}  // namespace znni::cuda
