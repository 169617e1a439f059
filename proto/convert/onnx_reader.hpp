// ONNX models as networks. Only the file's messages are used, no checker or shape inference of ONNX: the
// table of operators (proto/convert/onnx_operators.hpp) says what is read, and every size is checked here, so
// that a hostile file gives an error and never more.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <onnx/onnx_pb.h>

#include "planner/network/graph_passes.hpp"
#include "proto/convert/onnx_tensors.hpp"

namespace znni {

// A model is one protobuf message, which cannot be larger.
inline constexpr std::int64_t most_model_bytes = (std::int64_t{1} << 31) - 1;

// Node by node, nothing folded or fused: nodes without effect (Identity, Dropout, constants) and those the
// output does not need are gone, the rest stand in topological order under the names the file gives them.
// Tensors of one or two spatial axes have leading extents of 1.
// The result passes check() and check_weights().
// `source` gives the numbers of its tensors. over_budget, before any is read, where those of all nodes take too much.
struct OnnxSource {
  std::function<Result<std::vector<float>>(const onnx::TensorProto&)> floats = floats_of;
  std::int64_t bytes_elsewhere = 0;            // of tensors whose numbers are not in the message
  std::int64_t most_weight_bytes = saturated;  // of all numbers, as float32
};
[[nodiscard]] Result<LoadedNetwork> read_onnx(const onnx::ModelProto& model, const OnnxSource& source = {});

// The same from the bytes of a file. `path`: where they came from, so that weights in files beside it are read
// (proto/convert/onnx_external.hpp); without it a model that has such is refused.
[[nodiscard]] Result<LoadedNetwork> read_onnx_bytes(std::string_view bytes, const std::string& path = "",
                                                    std::int64_t most_weight_bytes = saturated);

// The same of a file, whose large tensors are in memory once: where they are needed, as float32.
[[nodiscard]] Result<LoadedNetwork> read_onnx_file(const std::string& path, std::int64_t most_weight_bytes);

}  // namespace znni
