// Reads ONNX models as networks. Uses the file's messages only, not ONNX's checker or shape inference. The table of
// operators (proto/convert/onnx/reader/onnx_operators.hpp) says what is supported. Every size is checked here, so that
// a hostile file causes an error and nothing worse.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <onnx/onnx_pb.h>

#include "planner/network/blockers.hpp"
#include "planner/network/graph_passes.hpp"
#include "proto/convert/base/network_reading.hpp"
#include "proto/convert/onnx/graph/onnx_tensors.hpp"

namespace znni {

// Upper bound of a model's bytes, which is that of a protobuf message.
inline constexpr std::int64_t max_model_bytes = (std::int64_t{1} << 31) - 1;

// Gives read_onnx() the numbers of a model's tensors, and bounds them.
struct OnnxSource {
  std::function<Result<std::vector<float>>(const onnx::TensorProto&)> floats = floats_of;
  std::int64_t bytes_elsewhere = 0;  // bytes of numbers that are not in the message
  NetworkReading reading;
};
// Converts node by node, without folding or fusing. Leaves out nodes without effect (Identity, Dropout, constants) and
// nodes that the output does not need. The rest are in topological order under the names of the file. Tensors of one or
// two spatial axes have leading extents of 1. Several outputs become the channels of one (Network::outputs), and so do
// several inputs (Network::inputs). Each input is a copy of channels where the file does not read all side by side;
// those that the outputs do not depend on are left out. A network that is bound to its window has that of the file, if
// the file declares the input's extents along all spatial axes. The result passes check() and check_weights(). Fails
// with over_budget, before any numbers are read, if those of all nodes take too much.
//
// The error is the first of what the model is refused for. `blockers`, if given, gets all of that, also behind refused
// nodes: it is empty if and only if the model is read, or is no sound ONNX model, or takes too much.
[[nodiscard]] Result<LoadedNetwork> read_onnx(const onnx::ModelProto& model, const OnnxSource& source = {},
                                              Blockers* blockers = nullptr);

// Does the same with the bytes of the file at `path`. The path is needed to read weights in files beside it
// (proto/convert/onnx/graph/onnx_external.hpp); without it a model with such weights is refused.
[[nodiscard]] Result<LoadedNetwork> read_onnx_bytes(std::string_view bytes, const std::string& path = "",
                                                    const NetworkReading& reading = {}, Blockers* blockers = nullptr);

// Does the same with a file. Its large tensors are in memory only once, as float32. If there are more blockers than the
// first, the error says how many, and how to list them.
[[nodiscard]] Result<LoadedNetwork> read_onnx_file(const std::string& path, const NetworkReading& reading,
                                                   Blockers* blockers = nullptr);

}  // namespace znni
