// ONNX models, built message by message, for the tests of the reader.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <onnx/onnx_pb.h>

#include "proto/convert/onnx_reader.hpp"

namespace znni::test {

using Names = std::vector<std::string>;
using Integers = std::vector<std::int64_t>;

void set_integer(onnx::NodeProto& node, std::string_view name, std::int64_t value);
void set_integers(onnx::NodeProto& node, std::string_view name, const Integers& values);
void set_real(onnx::NodeProto& node, std::string_view name, float value);
void set_text(onnx::NodeProto& node, std::string_view name, std::string_view value);

// The tensor's bytes are in `location` from now on, all of it unless the test says otherwise.
void move_outside(onnx::TensorProto& tensor, std::string_view location);
void set_external(onnx::TensorProto& tensor, std::string_view key, std::string_view value);

// A graph with one input "in" [N][f_in][any...]; nodes and the output are the test's.
class OnnxModel {
 public:
  explicit OnnxModel(std::int64_t f_in = 1, int spatial_axes = 3, std::int64_t opset = 13);

  // The node's name is its first output's with a slash before it.
  onnx::NodeProto& node(std::string_view operation, const Names& inputs, const Names& outputs);
  // A FLOAT initializer; `values` as they are, or 0, 1, 2, ... where none are given.
  onnx::TensorProto& tensor(std::string_view name, const Integers& extents, const std::vector<float>& values = {});
  // Conv of `in` with weights "<out>.w" and bias "<out>.b".
  onnx::NodeProto& conv(std::string_view in, std::string_view out, std::int64_t f, std::int64_t f_out,
                        const Integers& k);
  OnnxModel& output(std::string_view name);

  [[nodiscard]] std::string bytes() const { return proto.SerializeAsString(); }
  // The network; the test fails where the model is refused.
  [[nodiscard]] LoadedNetwork read() const;
  // The refusal, "code: message"; "" where the model is read.
  [[nodiscard]] std::string refusal() const;

  onnx::ModelProto proto;
};

// "n12".
[[nodiscard]] std::string numbered(std::string_view stem, int number);

// conv, pooling, batch normalisation, a residual branch, a concatenation: one of each.
[[nodiscard]] OnnxModel rich_model();

}  // namespace znni::test
