// Layers that make their output of all voxels of a channel: normalisations and poolings of all voxels.
#pragma once

#include "primitives/core/primitive.hpp"
#include "primitives/gpu/elementwise/moments_element.hpp"

namespace znni::cuda {

// Returns an estimate per format: the input is read `reads` times, by three launches, with the buffers that
// make_moments_layer() takes from its arena.
[[nodiscard]] Result<std::vector<Estimate>> describe_moments(std::string_view primitive, const LayerProblem& problem,
                                                             const DeviceSpec& spec, double reads);

// Returns the layer that finds the factors that `groups` describes and applies them. A layer without a scale in
// `groups` writes what is pooled. Device memory of `groups` is kept by the caller.
[[nodiscard]] Result<std::unique_ptr<PreparedLayer>> make_moments_layer(Device& device, const GroupsArg& groups,
                                                                        Activation activation);

}  // namespace znni::cuda
