// oneDNN's direct convolution of tensors with images innermost (NDHWC): its other layout, which the planner does not
// search, to be compared with.
#pragma once

#include "primitives/core/primitive.hpp"

namespace znni::bench {

// "bench.conv.onednn_channels_last". Dense tensors alone; refuses what the library has only reference code for.
extern const Primitive onednn_channels_last;

}  // namespace znni::bench
