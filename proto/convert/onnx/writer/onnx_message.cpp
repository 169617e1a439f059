#include "proto/convert/onnx/writer/onnx_message.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace znni {
namespace {

// The format of the files that came with each version of the operators.
std::int64_t format_of(std::int64_t opset) {
  if (opset < 19) return 8;
  return opset < 21 ? 9 : 10;
}

onnx::AttributeProto& add_attribute(onnx::NodeProto& node, std::string_view name,
                                    onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto& made = *node.add_attribute();
  made.set_name(std::string(name));
  made.set_type(type);
  return made;
}

// Files have the lowest byte first, as every machine that this program runs on.
static_assert(std::endian::native == std::endian::little);

template <class Element>
void set_elements(onnx::TensorProto& tensor, std::span<const Element> values) {
  std::string bytes(values.size_bytes(), '\0');
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  tensor.set_raw_data(std::move(bytes));
}

onnx::TensorShapeProto& describe(onnx::ValueInfoProto& value, const std::string& name, std::int64_t channels) {
  value.set_name(name);
  onnx::TypeProto::Tensor& type = *value.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  type.mutable_shape()->add_dim()->set_dim_param("N");
  type.mutable_shape()->add_dim()->set_dim_value(channels);
  return *type.mutable_shape();
}

}  // namespace

OnnxMessage::OnnxMessage(const std::string& name, int rank, std::int64_t opset) : rank_(rank) {
  model_.set_ir_version(format_of(opset));
  model_.set_producer_name("znni");
  onnx::OperatorSetIdProto& imported = *model_.add_opset_import();
  imported.set_domain("");
  imported.set_version(opset);
  model_.mutable_graph()->set_name(name);
}

std::string OnnxMessage::free_name(const std::string& wanted) {
  const auto [own, is_free] = names_.try_emplace(wanted, 1);
  if (is_free) return wanted;
  for (;;) {
    std::string found = wanted + " " + std::to_string(++own->second);
    if (names_.try_emplace(found, 1).second) return found;
  }
}

onnx::NodeProto& OnnxMessage::node(std::string_view operation, const std::string& name,
                                   const std::vector<std::string>& inputs, const std::string& output) {
  onnx::NodeProto& made = *model_.mutable_graph()->add_node();
  made.set_op_type(std::string(operation));
  made.set_name(name);
  for (const std::string& input : inputs) made.add_input(input);
  made.add_output(output);
  return made;
}

onnx::TensorProto& OnnxMessage::constant(const std::string& wanted, const OnnxNumbers& extents) {
  onnx::TensorProto& tensor = *model_.mutable_graph()->add_initializer();
  tensor.set_name(free_name(wanted));
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  for (const std::int64_t extent : extents) tensor.add_dims(extent);
  return tensor;
}

std::string OnnxMessage::floats(const std::string& wanted, const OnnxNumbers& extents, std::span<const float> values) {
  onnx::TensorProto& tensor = constant(wanted, extents);
  set_elements(tensor, values);
  return tensor.name();
}

std::string OnnxMessage::integers(const std::string& wanted, const OnnxNumbers& values) {
  onnx::TensorProto& tensor = *model_.mutable_graph()->add_initializer();
  tensor.set_name(free_name(wanted));
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_dims(static_cast<std::int64_t>(values.size()));
  set_elements<std::int64_t>(tensor, values);
  return tensor.name();
}

std::string OnnxMessage::number(const std::string& wanted, float value) { return floats(wanted, {}, {&value, 1}); }

void OnnxMessage::describe_input(const std::string& name, std::int64_t channels, Vec3 extent) {
  static constexpr std::array<const char*, 3> axes = {"Z", "Y", "X"};
  onnx::TensorShapeProto& shape = describe(*model_.mutable_graph()->add_input(), name, channels);
  for (int axis = 3 - rank_; axis < 3; ++axis) {
    onnx::TensorShapeProto::Dimension& along = *shape.add_dim();
    if (extent[axis] > 0) {
      along.set_dim_value(extent[axis]);
    } else {
      along.set_dim_param(axes[static_cast<std::size_t>(axis)]);
    }
  }
}

void OnnxMessage::describe_output(const std::string& name, std::int64_t channels) {
  static constexpr std::array<const char*, 3> axes = {"Z_out", "Y_out", "X_out"};
  onnx::TensorShapeProto& shape = describe(*model_.mutable_graph()->add_output(), name, channels);
  for (int axis = 3 - rank_; axis < 3; ++axis) shape.add_dim()->set_dim_param(axes[static_cast<std::size_t>(axis)]);
}

void set_integer(onnx::NodeProto& node, std::string_view name, std::int64_t value) {
  add_attribute(node, name, onnx::AttributeProto::INT).set_i(value);
}

void set_real(onnx::NodeProto& node, std::string_view name, float value) {
  add_attribute(node, name, onnx::AttributeProto::FLOAT).set_f(value);
}

void set_text(onnx::NodeProto& node, std::string_view name, std::string_view value) {
  add_attribute(node, name, onnx::AttributeProto::STRING).set_s(std::string(value));
}

void set_integers(onnx::NodeProto& node, std::string_view name, const OnnxNumbers& values) {
  onnx::AttributeProto& made = add_attribute(node, name, onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) made.add_ints(value);
}

OnnxNumbers spatial_numbers(Vec3 numbers, int rank) {
  OnnxNumbers along;
  for (int axis = 3 - rank; axis < 3; ++axis) along.push_back(numbers[axis]);
  return along;
}

OnnxNumbers spatial_numbers(const Border& border, int rank) {
  OnnxNumbers along = spatial_numbers(border.begin, rank);
  const OnnxNumbers ends = spatial_numbers(border.end, rank);
  along.insert(along.end(), ends.begin(), ends.end());
  return along;
}

}  // namespace znni
