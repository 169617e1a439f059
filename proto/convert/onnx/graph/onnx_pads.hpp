// Padding as ONNX's convolutions and poolings declare it: pads, or auto_pad.
#pragma once

#include "planner/network/network.hpp"
#include "proto/convert/onnx/graph/onnx_attributes.hpp"
#include "proto/convert/onnx/graph/onnx_builder.hpp"
#include "proto/convert/onnx/graph/onnx_extents.hpp"

namespace znni {

// Returns the voxels around the input, whose extents are `in`; `window`, dilation counted, and `stride` are the node's.
// SAME_UPPER and SAME_LOWER make as many voxels as steps of the stride begin within the input. At strides above 1 that
// depends on its extents, which must then leave the same rest for all volumes.
[[nodiscard]] Result<Border> pads_of(const OnnxAttributes& attributes, Vec3 window, Vec3 stride, int rank,
                                     const VolumeExtents& in);

// Returns the extents of a value for pads_of(): of one behind a refused node, some that no pads depend on.
[[nodiscard]] VolumeExtents extents_for_pads(const OnnxBuilder& builder, int value, Vec3 stride);

// Returns whether the pads of a node depend on its input's extents.
[[nodiscard]] bool pads_by_extent(const onnx::NodeProto& node);

}  // namespace znni
