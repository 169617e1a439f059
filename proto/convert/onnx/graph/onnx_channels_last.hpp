// Files whose channels are the last axis, as Keras has them: [N][spatial...][C].
#pragma once

#include "proto/convert/onnx/graph/onnx_graph.hpp"

namespace znni {

// Returns whether the only input of the graph has its channels last: all that read it bring them to the front, by a
// Transpose, or a single one by a Reshape, Squeeze or Unsqueeze; or they ask for its extents. Not so if axis 1, and not
// the last one, has as many channels as the first convolution reads.
[[nodiscard]] bool has_channels_last(const OnnxGraph& graph);

}  // namespace znni
