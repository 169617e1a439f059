// Writes operations as nodes of an ONNX model, the other way round from proto/convert/onnx/reader/onnx_operators.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/network/network.hpp"
#include "primitives/core/result.hpp"
#include "proto/convert/onnx/writer/onnx_message.hpp"

namespace znni {

// What a node is written from.
struct WrittenNode {
  const Node& node;            // without a fused activation or a residual
  const NodeWeights& weights;  // of the sizes that check_weights() asks for
  Border pads;                 // around its first input, of a convolution or pooling
  OutsideKind pads_with;       // what these are, or what a Crop that takes away less than nothing puts there
  Crop crop;                   // what a Crop takes away of a whole volume's tensor
  std::vector<std::string> inputs;
  std::int64_t channels = 0;  // of the first input
  std::string output;         // the tensor that it writes
};

// Returns the version of ONNX's operators that the network needs; at least 17.
[[nodiscard]] std::int64_t opset_of(const Network& network);

// Appends the node, or several that compute it, to the model. The one that gives the network's node its name is called
// so. Fails with unsupported if the operation is none that files have; the error does not name the node.
[[nodiscard]] Result<void> write_operation(const WrittenNode& written, OnnxMessage& message);

}  // namespace znni
