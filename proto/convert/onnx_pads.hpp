// Padding as ONNX's convolutions and poolings declare it: pads, or auto_pad.
#pragma once

#include "planner/network/network.hpp"
#include "proto/convert/onnx_attributes.hpp"

namespace znni {

// Returns the voxels around the input; `window`, dilation counted, and `stride` are the node's. SAME_UPPER and
// SAME_LOWER are known at a stride of 1, where they do not depend on the input's extent.
[[nodiscard]] Result<Border> pads_of(const OnnxAttributes& attributes, Vec3 window, Vec3 stride, int rank);

}  // namespace znni
