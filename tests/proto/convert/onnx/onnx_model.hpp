// Builds ONNX models message by message, for tests of the reader.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <onnx/onnx_pb.h>

#include "proto/convert/onnx/reader/onnx_reader.hpp"

namespace znni::test {

using Names = std::vector<std::string>;
using Integers = std::vector<std::int64_t>;

void set_integer(onnx::NodeProto& node, std::string_view name, std::int64_t value);
void set_integers(onnx::NodeProto& node, std::string_view name, const Integers& values);
void set_real(onnx::NodeProto& node, std::string_view name, float value);
void set_text(onnx::NodeProto& node, std::string_view name, std::string_view value);

// Makes the tensor refer to `location` for its bytes: the whole file, unless the test sets offset or length.
void move_outside(onnx::TensorProto& tensor, std::string_view location);
void set_external(onnx::TensorProto& tensor, std::string_view key, std::string_view value);

// A graph with an input "in" [N][f_in][any...]. The test adds nodes and the output.
class OnnxModel {
 public:
  explicit OnnxModel(std::int64_t f_in = 1, int spatial_axes = 3, std::int64_t opset = 13);

  // Adds a node. Its name is that of its first output with a slash before it.
  onnx::NodeProto& node(std::string_view operation, const Names& inputs, const Names& outputs);
  // Adds a FLOAT initializer with `values`, or 0, 1, 2, ... if there are none.
  onnx::TensorProto& tensor(std::string_view name, const Integers& extents, const std::vector<float>& values = {});
  // Adds an INT64 initializer: a list, or a scalar.
  onnx::TensorProto& integers(std::string_view name, const Integers& values);
  onnx::TensorProto& integer(std::string_view name, std::int64_t value);
  // Adds a Conv of `in` with weights "<out>.w" and bias "<out>.b".
  onnx::NodeProto& conv(std::string_view in, std::string_view out, std::int64_t f, std::int64_t f_out,
                        const Integers& k);
  OnnxModel& output(std::string_view name);
  // Adds an input [N][f_in][any...]; a test may set its extents.
  onnx::ValueInfoProto& input(std::string_view name, std::int64_t f_in, int spatial_axes = 3);

  [[nodiscard]] std::string bytes() const { return proto.SerializeAsString(); }
  // Returns the network. The test fails if the model is refused.
  [[nodiscard]] LoadedNetwork read() const;
  // Returns the refusal, "code: message"; "" if the model is read.
  [[nodiscard]] std::string refusal() const;
  // Returns what activations, scales, shifts and sums of two make of a voxel of channel 0.
  [[nodiscard]] double value_of(double x) const;
  // Returns all that the model is refused for.
  [[nodiscard]] Blockers blockers() const;

  onnx::ModelProto proto;
};

// Returns a name such as "n12".
[[nodiscard]] std::string numbered(std::string_view stem, int number);

// Returns a model with a convolution, pooling, batch normalisation, a residual branch and a concatenation.
[[nodiscard]] OnnxModel rich_model();

}  // namespace znni::test
