// Builds an ONNX model message by message.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <onnx/onnx_pb.h>

#include "planner/network/network.hpp"

namespace znni {

using OnnxNumbers = std::vector<std::int64_t>;

// Holds a model that is not complete yet. Names of tensors are made here, so that no two tensors have one name.
class OnnxMessage {
 public:
  // `rank` is the number of spatial axes, 1 to 3; `opset` the version of the operators.
  OnnxMessage(const std::string& name, int rank, std::int64_t opset);

  // Returns `wanted`, or with the first number behind it that is free, and takes it.
  [[nodiscard]] std::string free_name(const std::string& wanted);
  [[nodiscard]] int rank() const { return rank_; }

  // Adds a node of one output. The reference holds until the next node is added.
  onnx::NodeProto& node(std::string_view operation, const std::string& name, const std::vector<std::string>& inputs,
                        const std::string& output);
  // Adds a constant, and returns its name: `wanted`, if that is free.
  std::string floats(const std::string& wanted, const OnnxNumbers& extents, std::span<const float> values);
  std::string integers(const std::string& wanted, const OnnxNumbers& values);
  // Adds a constant of float32 without its numbers. The reference holds until the next constant is added.
  onnx::TensorProto& constant(const std::string& wanted, const OnnxNumbers& extents);
  // Adds a constant of one number, without axes.
  std::string number(const std::string& wanted, float value);
  // Adds the description of an input or output: [N][channels][extents of the spatial axes]; 0: any, called by `axes`.
  void describe_input(const std::string& name, std::int64_t channels, Vec3 extent);
  void describe_output(const std::string& name, std::int64_t channels);

  // Adds an output that the file says no more of.
  void name_output(const std::string& name) { model_.mutable_graph()->add_output()->set_name(name); }

  [[nodiscard]] const onnx::ModelProto& model() const { return model_; }
  [[nodiscard]] onnx::ModelProto take() { return std::move(model_); }

 private:
  onnx::ModelProto model_;
  int rank_;
  std::map<std::string, std::int64_t> names_;  // name -> the last number behind it that is taken
};

void set_integer(onnx::NodeProto& node, std::string_view name, std::int64_t value);
void set_real(onnx::NodeProto& node, std::string_view name, float value);
void set_text(onnx::NodeProto& node, std::string_view name, std::string_view value);
void set_integers(onnx::NodeProto& node, std::string_view name, const OnnxNumbers& values);

// Returns the numbers along the last `rank` axes.
[[nodiscard]] OnnxNumbers spatial_numbers(Vec3 numbers, int rank);
// Returns the numbers at the begin of each axis, then those at the end.
[[nodiscard]] OnnxNumbers spatial_numbers(const Border& border, int rank);

}  // namespace znni
