#include "tests/proto/convert/onnx/onnx_model.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/oracle/oracle.hpp"

namespace znni::test {
namespace {

onnx::AttributeProto& attribute(onnx::NodeProto& node, std::string_view name,
                                onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto& made = *node.add_attribute();
  made.set_name(std::string(name));
  made.set_type(type);
  return made;
}

std::int64_t element_count(const Integers& extents) {
  return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
}

}  // namespace

void set_integer(onnx::NodeProto& node, std::string_view name, std::int64_t value) {
  attribute(node, name, onnx::AttributeProto::INT).set_i(value);
}

void set_integers(onnx::NodeProto& node, std::string_view name, const Integers& values) {
  onnx::AttributeProto& made = attribute(node, name, onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) made.add_ints(value);
}

void set_real(onnx::NodeProto& node, std::string_view name, float value) {
  attribute(node, name, onnx::AttributeProto::FLOAT).set_f(value);
}

void set_text(onnx::NodeProto& node, std::string_view name, std::string_view value) {
  attribute(node, name, onnx::AttributeProto::STRING).set_s(std::string(value));
}

void move_outside(onnx::TensorProto& tensor, std::string_view location) {
  tensor.clear_raw_data();
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  set_external(tensor, "location", location);
}

void set_external(onnx::TensorProto& tensor, std::string_view key, std::string_view value) {
  onnx::StringStringEntryProto& entry = *tensor.add_external_data();
  entry.set_key(std::string(key));
  entry.set_value(std::string(value));
}

OnnxModel::OnnxModel(std::int64_t f_in, int spatial_axes, std::int64_t opset) {
  proto.set_ir_version(7);
  onnx::OperatorSetIdProto* imported = proto.add_opset_import();
  imported->set_domain("");
  imported->set_version(opset);
  proto.mutable_graph()->set_name("net");
  input("in", f_in, spatial_axes);
}

onnx::ValueInfoProto& OnnxModel::input(std::string_view name, std::int64_t f_in, int spatial_axes) {
  onnx::ValueInfoProto& input = *proto.mutable_graph()->add_input();
  input.set_name(std::string(name));
  onnx::TypeProto::Tensor* type = input.mutable_type()->mutable_tensor_type();
  type->set_elem_type(onnx::TensorProto::FLOAT);
  type->mutable_shape()->add_dim()->set_dim_param("N");
  type->mutable_shape()->add_dim()->set_dim_value(f_in);
  for (int i = 0; i < spatial_axes; ++i) type->mutable_shape()->add_dim()->set_dim_param("n");
  return input;
}

onnx::NodeProto& OnnxModel::node(std::string_view operation, const Names& inputs, const Names& outputs) {
  onnx::NodeProto& made = *proto.mutable_graph()->add_node();
  made.set_op_type(std::string(operation));
  made.set_name("/" + outputs.front());
  for (const std::string& input : inputs) made.add_input(input);
  for (const std::string& output : outputs) made.add_output(output);
  return made;
}

onnx::TensorProto& OnnxModel::tensor(std::string_view name, const Integers& extents, const std::vector<float>& values) {
  onnx::TensorProto& made = *proto.mutable_graph()->add_initializer();
  made.set_name(std::string(name));
  made.set_data_type(onnx::TensorProto::FLOAT);
  for (const std::int64_t extent : extents) made.add_dims(extent);
  std::vector<float> stored = values;
  if (values.empty()) {
    stored.resize(static_cast<std::size_t>(element_count(extents)));
    std::iota(stored.begin(), stored.end(), 0.0F);
  }
  made.set_raw_data(stored.data(), stored.size() * sizeof(float));
  return made;
}

onnx::TensorProto& OnnxModel::integers(std::string_view name, const Integers& values) {
  onnx::TensorProto& made = *proto.mutable_graph()->add_initializer();
  made.set_name(std::string(name));
  made.set_data_type(onnx::TensorProto::INT64);
  made.add_dims(static_cast<std::int64_t>(values.size()));
  for (const std::int64_t value : values) made.add_int64_data(value);
  return made;
}

onnx::TensorProto& OnnxModel::integer(std::string_view name, std::int64_t value) {
  onnx::TensorProto& made = integers(name, {value});
  made.clear_dims();
  return made;
}

onnx::NodeProto& OnnxModel::conv(std::string_view in, std::string_view out, std::int64_t f, std::int64_t f_out,
                                 const Integers& k) {
  const std::string name(out);
  Integers extents = {f_out, f};
  extents.insert(extents.end(), k.begin(), k.end());
  tensor(name + ".w", extents);
  tensor(name + ".b", {f_out});
  return node("Conv", {std::string(in), name + ".w", name + ".b"}, {name});
}

OnnxModel& OnnxModel::output(std::string_view name) {
  proto.mutable_graph()->add_output()->set_name(std::string(name));
  return *this;
}

LoadedNetwork OnnxModel::read() const {
  Result<LoadedNetwork> loaded = read_onnx(proto);
  if (loaded) return *std::move(loaded);
  ADD_FAILURE() << "refused: " << loaded.error().message;
  return {};
}

std::string OnnxModel::refusal() const {
  const Result<LoadedNetwork> loaded = read_onnx(proto);
  return loaded ? "" : std::string(to_string(loaded.error().code)) + ": " + loaded.error().message;
}

double OnnxModel::value_of(double x) const {
  const LoadedNetwork loaded = read();
  std::vector<double> values = {x};
  for (std::size_t i = 0; i < loaded.network.nodes.size(); ++i) {
    const NodeWeights& weights = loaded.weights[i];
    const Node& node = loaded.network.nodes[i];
    const double first = values[static_cast<std::size_t>(node.inputs.front())];
    if (const auto* activate = std::get_if<Activate>(&node.operation)) {
      values.push_back(oracle::apply_exactly(activate->activation, first));
    } else if (std::holds_alternative<Add>(node.operation)) {
      values.push_back(first + values[static_cast<std::size_t>(node.inputs.back())]);
    } else {
      values.push_back(first * static_cast<double>(weights.scale.at(0)) + static_cast<double>(weights.shift.at(0)));
    }
  }
  return values.back();
}

Blockers OnnxModel::blockers() const {
  Blockers blockers;
  static_cast<void>(read_onnx(proto, {}, &blockers));
  return blockers;
}

std::string numbered(std::string_view stem, int number) { return std::string(stem).append(std::to_string(number)); }

OnnxModel rich_model() {
  OnnxModel model(2);
  model.conv("in", "a", 2, 3, {2, 3, 3});
  for (const char* name : {"gamma", "beta", "mean"}) model.tensor(name, {3});
  model.tensor("variance", {3}, {1, 2, 3});
  model.node("BatchNormalization", {"a", "gamma", "beta", "mean", "variance"}, {"n"});
  model.node("Relu", {"n"}, {"r"});
  onnx::NodeProto& pool = model.node("MaxPool", {"r"}, {"p"});
  set_integers(pool, "kernel_shape", {2, 2, 2});
  set_integers(pool, "strides", {2, 2, 2});
  model.conv("p", "b", 3, 3, {1, 1, 1});
  model.node("Add", {"b", "p"}, {"s"});
  set_integer(model.node("Concat", {"s", "p", "b"}, {"c"}), "axis", 1);
  model.conv("c", "d", 9, 1, {1, 1, 1});
  model.node("Sigmoid", {"d"}, {"out"});
  model.output("out");
  return model;
}

}  // namespace znni::test
