// oneDNN's direct convolution of tensors with channels innermost (NDHWC). The planner does not search this layout; it
// is here for comparison.
#pragma once

#include "primitives/core/primitive.hpp"

namespace znni::bench {

// Primitive "bench.conv.onednn_channels_last". Takes dense tensors only, and refuses problems for which the library has
// only reference code.
extern const Primitive onednn_channels_last;

}  // namespace znni::bench
