// Tensors that a file computes from shapes or from constants, such as sizes of a Resize: no voxel goes into them.
#pragma once

#include <map>
#include <string>

#include "proto/convert/onnx/graph/onnx_graph.hpp"

namespace znni {

enum class Arithmetic { none, of_constants, of_shapes };

class OnnxArithmetic {
 public:
  explicit OnnxArithmetic(const OnnxGraph& graph);

  // Returns what the tensor is computed from: `none` for voxels, and for the constants of the file themselves.
  [[nodiscard]] Arithmetic of(const std::string& tensor) const;
  // Returns the same of the node's outputs.
  [[nodiscard]] Arithmetic of(const onnx::NodeProto& node) const;
  // Returns what the node reads beside voxels; of two, shapes.
  [[nodiscard]] Arithmetic read_by(const onnx::NodeProto& node) const;

 private:
  std::map<std::string, Arithmetic> tensors_;
};

}  // namespace znni
