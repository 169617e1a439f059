#include "tests/server/models/onnx_file.hpp"

#include <onnx/onnx_pb.h>

#include <fstream>
#include <initializer_list>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "primitives/core/result.hpp"

namespace znni::test {
namespace {

void add_integers(onnx::NodeProto& node, const std::string& name, std::initializer_list<std::int64_t> values) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) attribute.add_ints(value);
}

void add_integers(onnx::NodeProto& node, const std::string& name, Vec3 v) { add_integers(node, name, {v.z, v.y, v.x}); }

void add_integer(onnx::NodeProto& node, const std::string& name, std::int64_t value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

void add_tensor(onnx::GraphProto& graph, const std::string& name, const std::vector<std::int64_t>& dims,
                const std::vector<float>& values) {
  onnx::TensorProto& tensor = *graph.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  for (const std::int64_t dim : dims) tensor.add_dims(dim);
  for (const float value : values) tensor.add_float_data(value);
}

void add_value(onnx::ValueInfoProto& value, const std::string& name, std::int64_t f) {
  value.set_name(name);
  onnx::TypeProto::Tensor& tensor = *value.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(onnx::TensorProto::FLOAT);
  onnx::TensorShapeProto& shape = *tensor.mutable_shape();
  shape.add_dim()->set_dim_value(1);
  shape.add_dim()->set_dim_value(f);
  for (const char* axis : {"z", "y", "x"}) shape.add_dim()->set_dim_param(axis);
}

class Writer {
 public:
  Writer(const Network& network, const NetworkWeights& weights) : network_(network), weights_(weights) {
    model_.set_ir_version(7);
    model_.add_opset_import()->set_version(13);
    graph_.set_name(network.name);
    names_.push_back(network.input_name);
  }

  std::string text() {
    const std::vector<std::int64_t> f = channels_of(network_);
    add_value(*graph_.add_input(), network_.input_name, network_.f_in);
    for (std::size_t i = 0; i < network_.nodes.size(); ++i) add_node(i, f);
    add_value(*graph_.add_output(), names_.back(), f.back());
    *model_.mutable_graph() = graph_;
    return model_.SerializeAsString();
  }

 private:
  onnx::NodeProto& start(const std::string& type, const std::vector<std::string>& inputs, const std::string& output) {
    onnx::NodeProto& node = *graph_.add_node();
    node.set_op_type(type);
    node.set_name(output);
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(output);
    return node;
  }

  void add_node(std::size_t i, const std::vector<std::int64_t>& f) {
    const Node& node = network_.nodes[i];
    const bool last = i + 1 == network_.nodes.size();
    const std::string output = last ? network_.output_name : "value of " + node.name;
    std::vector<std::string> inputs;
    for (const int input : node.inputs) inputs.push_back(names_[static_cast<std::size_t>(input)]);
    const std::int64_t f_in = f[static_cast<std::size_t>(node.inputs.front())];
    if (const auto* conv = std::get_if<Convolution>(&node.operation)) {
      add_convolution(*conv, i, f_in, inputs, output);
    } else if (const auto* pool = std::get_if<Pooling>(&node.operation)) {
      onnx::NodeProto& made = start(pool->kind == PoolKind::max ? "MaxPool" : "AveragePool", inputs, output);
      made.set_name(node.name);
      add_integers(made, "kernel_shape", pool->window);
      add_integers(made, "strides", pool->stride);
    } else if (std::holds_alternative<Add>(node.operation)) {
      start("Add", inputs, output).set_name(node.name);
    } else if (std::holds_alternative<Concat>(node.operation)) {
      onnx::NodeProto& made = start("Concat", inputs, output);
      made.set_name(node.name);
      add_integer(made, "axis", 1);
    } else if (const auto* norm = std::get_if<Norm>(&node.operation)) {
      add_normalisation(*norm, i, f_in, inputs, output);
    } else {
      const auto* activate = std::get_if<Activate>(&node.operation);
      ensure(activate != nullptr, "an operation this writer knows");
      const bool relu = activate->activation.kind == ActivationKind::relu;
      start(relu ? "Relu" : "Sigmoid", inputs, output).set_name(node.name);
    }
    names_.push_back(output);
  }

  void add_convolution(const Convolution& conv, std::size_t i, std::int64_t f_in, std::vector<std::string> inputs,
                       const std::string& output) {
    const std::string& name = network_.nodes[i].name;
    inputs.push_back(name + " kernels");
    add_tensor(graph_, inputs.back(), {conv.f_out, f_in, conv.k.z, conv.k.y, conv.k.x}, weights_[i].kernels);
    if (!weights_[i].bias.empty()) {
      inputs.push_back(name + " bias");
      add_tensor(graph_, inputs.back(), {conv.f_out}, weights_[i].bias);
    }
    const bool relu = conv.activation.kind == ActivationKind::relu;
    onnx::NodeProto& made = start("Conv", inputs, relu ? "before " + output : output);
    made.set_name(name);
    add_integers(made, "kernel_shape", conv.k);
    add_integers(made, "dilations", conv.dilation);
    if (relu) start("Relu", {"before " + output}, output);
  }

  void add_normalisation(const Norm& norm, std::size_t i, std::int64_t f, std::vector<std::string> inputs,
                         const std::string& output) {
    ensure(norm.groups == f && norm.activation.kind == ActivationKind::none, "a normalisation this writer knows");
    const std::string& name = network_.nodes[i].name;
    for (const auto& [part, values] : {std::pair(" scale", &weights_[i].scale), {" shift", &weights_[i].shift}}) {
      inputs.push_back(name + part);
      add_tensor(graph_, inputs.back(), {f}, *values);
    }
    onnx::NodeProto& made = start("InstanceNormalization", inputs, output);
    made.set_name(name);
    onnx::AttributeProto& epsilon = *made.add_attribute();
    epsilon.set_name("epsilon");
    epsilon.set_type(onnx::AttributeProto::FLOAT);
    epsilon.set_f(norm.epsilon);
  }

  const Network& network_;
  const NetworkWeights& weights_;
  onnx::ModelProto model_;
  onnx::GraphProto graph_;
  std::vector<std::string> names_;  // of values
};

}  // namespace

std::string onnx_text(const Network& network, const NetworkWeights& weights) { return Writer(network, weights).text(); }

void write_model(const std::filesystem::path& repository, const std::string& model, const std::string& version,
                 const std::string& text) {
  const std::filesystem::path folder = repository / model / version;
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "model.onnx", std::ios::binary) << text;
}

}  // namespace znni::test
