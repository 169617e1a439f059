// Writes networks as ONNX models: float32, operators of version 17, or newer where an operation needs that. A model
// that is written reads back as the same network with equal weights (proto/convert/onnx/reader/onnx_reader.hpp). Any
// runtime computes of it what it computes of such a file: poolings keep their strides, padding stands where the file
// had it. Voxels that are repeated at the border or reflected are a node of their own, a Pad.
//
// A fused activation becomes a node of its own, and so does a residual (planner/network/unfused.hpp). A network that
// fold_and_fuse() folded may be written, but for sums of more than two tensors; scales and shifts that a convolution
// took in stay in it.
#pragma once

#include <string>

#include <onnx/onnx_pb.h>

#include "planner/network/graph_edits.hpp"
#include "primitives/core/result.hpp"

namespace znni {

// Returns the model. Fails with unsupported if an operation is none that is written (pixel shuffles, sums of more than
// two tensors). It also fails if the model would read back as another network; the error names the node. Fails with
// invalid_argument if network and weights do not pass check() and check_weights(), or a weight is not finite. Takes
// about three times the memory of the weights.
[[nodiscard]] Result<onnx::ModelProto> onnx_of(const LoadedNetwork& loaded);

// Writes the model to a file, atomically. Fails besides if it has more bytes than a message of protobuf may have
// (max_model_bytes): weights outside of the file are not written. Every error begins with the path.
[[nodiscard]] Result<void> write_onnx_file(const LoadedNetwork& loaded, const std::string& path);

}  // namespace znni
