// A model whose input has declared extents, and whose voxels are tokens.
#pragma once

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni::test {

inline constexpr std::int64_t token_count = 24;

// Returns a model of `f` channels of 2x3x4 voxels: "x" is a ReLU of the input, "t" its tokens, [1, 24, f].
inline OnnxModel token_model(std::int64_t f, std::int64_t opset = 17) {
  OnnxModel model(f, 3, opset);
  onnx::TypeProto::Tensor& type = *model.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
  const Integers extents = {1, f, 2, 3, 4};
  for (int axis = 0; axis < 5; ++axis) {
    type.mutable_shape()->mutable_dim(axis)->set_dim_value(extents[static_cast<std::size_t>(axis)]);
  }
  model.integers("flat", {1, f, -1});
  model.node("Relu", {"in"}, {"x"});
  model.node("Reshape", {"x", "flat"}, {"f"});
  set_integers(model.node("Transpose", {"f"}, {"t"}), "perm", {0, 2, 1});
  return model;
}

// Makes tokens of `f` channels voxels again, and the output.
inline OnnxModel& with_voxels(OnnxModel& model, const std::string& tokens, std::int64_t f) {
  model.integers("back", {1, f, 2, 3, 4});
  set_integers(model.node("Transpose", {tokens}, {"turned"}), "perm", {0, 2, 1});
  model.node("Reshape", {"turned", "back"}, {"out"});
  return model.output("out");
}

}  // namespace znni::test
