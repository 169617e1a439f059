// What the inputs of an ONNX graph declare: axes, channels, extents. Several of one extent are read as one, whose
// channels are those of the inputs, one after the other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "primitives/core/shape.hpp"
#include "proto/convert/onnx/graph/onnx_graph.hpp"

namespace znni {

// Form of the net's input: [N][f_in][spatial axes], also of one whose channels are last in the file.
struct InputForm {
  int rank = 0;           // number of spatial axes, 1 to 3
  std::int64_t f_in = 0;  // of all inputs
};

// Returns the form. Of one input that leaves axes or channels open, the first convolution says them; several must say
// how many channels they have. Fails, naming the input, for one that is no tensor of real numbers with 1 to 3 spatial
// axes; and if several differ in their axes, their extents or in the inputs of a batch.
[[nodiscard]] Result<InputForm> form_of(const OnnxGraph& graph);

// Returns the extents of the first Conv's weights, [f_out][f / groups][k...]; empty if there is none.
[[nodiscard]] std::vector<std::int64_t> first_weights(const OnnxGraph& graph);

// Returns the refusal of several inputs that do not have one extent; `how` says what was found.
[[nodiscard]] Error inputs_differ(const OnnxGraph& graph, const std::string& how);

// Returns the extent that the inputs declare, 0 along axes that all of them leave open.
[[nodiscard]] Vec3 declared_extent(const OnnxGraph& graph, int rank);
// Returns the inputs of the batch: what the file declares, or 1.
[[nodiscard]] std::int64_t declared_batch(const OnnxGraph& graph);

}  // namespace znni
