#include "proto/convert/caffe/caffe_layers.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include "proto/convert/caffe/caffe_spatial.hpp"
#include "proto/convert/onnx/reader/onnx_operators.hpp"

namespace znni {
namespace {

using Convert = Result<void> (*)(const CaffeLayer&, CaffeModel&);

Result<void> convert_relu(const CaffeLayer& layer, CaffeModel& model) {
  const float slope = layer.layer.relu_param().negative_slope();
  onnx::NodeProto& node = model.add(slope == 0 ? "Relu" : "LeakyRelu", layer, layer.inputs);
  if (slope != 0) set_real(node, "alpha", slope);
  return {};
}

Result<void> convert_elu(const CaffeLayer& layer, CaffeModel& model) {
  set_real(model.add("Elu", layer, layer.inputs), "alpha", layer.layer.elu_param().alpha());
  return {};
}

Result<void> convert_sigmoid(const CaffeLayer& layer, CaffeModel& model) {
  model.add("Sigmoid", layer, layer.inputs);
  return {};
}

Result<void> convert_tanh(const CaffeLayer& layer, CaffeModel& model) {
  model.add("Tanh", layer, layer.inputs);
  return {};
}

Result<void> convert_prelu(const CaffeLayer& layer, CaffeModel& model) {
  const Result<std::int64_t> slopes = model.count(layer, 0, 1);
  if (!slopes) return slopes.error();
  const bool is_shared = layer.layer.prelu_param().channel_shared();
  const Result<std::string> slope =
      model.constant(layer, 0, model.for_channels(layer.inputs.front(), is_shared ? 1 : *slopes));
  if (!slope) return slope.error();
  model.add("PRelu", layer, {layer.inputs.front(), *slope});
  return {};
}

Result<void> convert_eltwise(const CaffeLayer& layer, CaffeModel& model) {
  const caffe::EltwiseParameter& of = layer.layer.eltwise_param();
  if (of.operation() == caffe::EltwiseParameter::MAX) return not_read(layer, model, "MAX");
  const bool is_sum = of.operation() == caffe::EltwiseParameter::SUM;
  const std::size_t inputs = layer.inputs.size();
  if (inputs < 2) return CaffeModel::wrong(layer, "has " + std::to_string(inputs) + " inputs; 2 or more are right");
  if (of.coeff_size() > 0 && (!is_sum || static_cast<std::size_t>(of.coeff_size()) != inputs)) {
    return CaffeModel::wrong(layer, "has " + std::to_string(of.coeff_size()) + " coefficients of " +
                                        std::to_string(inputs) + " inputs; only sums have them, one for each");
  }
  std::vector<std::string> terms = layer.inputs;
  for (int i = 0; i < of.coeff_size(); ++i) {
    if (of.coeff(i) == 1) continue;
    const std::string factor = model.message().number(layer.layer.name() + "/coeff", of.coeff(i));
    std::string& term = terms[static_cast<std::size_t>(i)];
    term = model.add_part("Mul", layer, {term, factor});
  }
  const char* operation = is_sum ? "Add" : "Mul";
  std::string joined = terms.front();
  for (std::size_t i = 1; i + 1 < terms.size(); ++i) joined = model.add_part(operation, layer, {joined, terms[i]});
  model.add(operation, layer, {joined, terms.back()});
  return {};
}

Result<void> convert_concat(const CaffeLayer& layer, CaffeModel& model) {
  const caffe::ConcatParameter& of = layer.layer.concat_param();
  const std::int64_t axis = of.has_concat_dim() ? std::int64_t{of.concat_dim()} : of.axis();
  if (from_front(axis, model) != 1) return not_read(layer, model, of_axis(axis));
  set_integer(model.add("Concat", layer, layer.inputs), "axis", 1);
  return {};
}

// Mean and variance are sums, which the third blob says the weight of.
Result<void> convert_batch_norm(const CaffeLayer& layer, CaffeModel& model) {
  constexpr int blobs = 3;
  const caffe::BatchNormParameter& of = layer.layer.batch_norm_param();
  if (of.has_use_global_stats() && !of.use_global_stats()) return not_read(layer, model, "by means of the batch");
  const Result<std::int64_t> channels = model.count(layer, 0, blobs);
  if (!channels) return channels.error();
  for (int blob = 1; blob < blobs; ++blob) {
    const Result<std::int64_t> count = model.count(layer, blob, blobs);
    if (!count) return count.error();
    const std::int64_t right = blob == 1 ? *channels : 1;
    if (*count == right) continue;
    return CaffeModel::wrong(layer, "blob " + std::to_string(blob) + " has " + std::to_string(*count) + " numbers; " +
                                        std::to_string(right) + (right == 1 ? " is right" : " are right"));
  }
  const float weight = model.numbers(layer, 2).front();
  const float scale = weight == 0 ? 0.0F : 1 / weight;
  const std::size_t f = static_cast<std::size_t>(*channels);
  std::vector<std::string> inputs = {layer.inputs.front()};
  for (const float value : {1.0F, 0.0F}) {
    inputs.push_back(
        model.message().floats(layer.layer.name() + ".constant", {*channels}, std::vector<float>(f, value)));
  }
  for (int blob = 0; blob < 2; ++blob) {
    std::vector<float> numbers = model.numbers(layer, blob);
    for (float& number : numbers) number *= scale;
    const std::string name = layer.layer.name() + (blob == 0 ? ".mean" : ".variance");
    inputs.push_back(model.message().floats(name, {*channels}, numbers));
  }
  set_real(model.add("BatchNormalization", layer, inputs), "epsilon", of.eps());
  return {};
}

// Adds a factor or a term for each channel, or for all.
Result<void> scale_and_shift(const CaffeLayer& layer, CaffeModel& model, const std::vector<const char*>& operations,
                             bool is_for_all) {
  const int blobs = static_cast<int>(operations.size());
  std::string value = layer.inputs.front();
  for (int blob = 0; blob < blobs; ++blob) {
    const Result<std::int64_t> count = model.count(layer, blob, blobs);
    if (!count) return count.error();
    const OnnxNumbers extents = is_for_all ? OnnxNumbers() : model.for_channels(layer.inputs.front(), *count);
    const Result<std::string> constant = model.constant(layer, blob, extents);
    if (!constant) return constant.error();
    const char* operation = operations[static_cast<std::size_t>(blob)];
    if (blob + 1 == blobs) {
      model.add(operation, layer, {value, *constant});
    } else {
      value = model.add_part(operation, layer, {value, *constant});
    }
  }
  return {};
}

// Returns whether numbers are one for each channel, or one for all; else what is not supported.
template <class Parameters>
std::string other_than_channels(const CaffeLayer& layer, const CaffeModel& model, const Parameters& of) {
  if (layer.inputs.size() > 1) return "by another blob";
  if (of.num_axes() == 0) return "";
  if (from_front(of.axis(), model) != 1 || of.num_axes() != 1) return "of other than channels";
  return "";
}

Result<void> convert_scale(const CaffeLayer& layer, CaffeModel& model) {
  const caffe::ScaleParameter& of = layer.layer.scale_param();
  const std::string other = other_than_channels(layer, model, of);
  if (!other.empty()) return not_read(layer, model, other);
  std::vector<const char*> operations = {"Mul"};
  if (of.bias_term()) operations.push_back("Add");
  return scale_and_shift(layer, model, operations, of.num_axes() == 0);
}

Result<void> convert_bias(const CaffeLayer& layer, CaffeModel& model) {
  const caffe::BiasParameter& of = layer.layer.bias_param();
  const std::string other = other_than_channels(layer, model, of);
  if (!other.empty()) return not_read(layer, model, other);
  return scale_and_shift(layer, model, {"Add"}, of.num_axes() == 0);
}

Result<void> convert_power(const CaffeLayer& layer, CaffeModel& model) {
  const caffe::PowerParameter& of = layer.layer.power_param();
  if (of.power() != 1) return not_read(layer, model, "to other than 1");
  const std::string factor = model.message().number(layer.layer.name() + "/scale", of.scale());
  if (of.shift() == 0) {
    model.add("Mul", layer, {layer.inputs.front(), factor});
    return {};
  }
  const std::string shift = model.message().number(layer.layer.name() + "/shift", of.shift());
  std::string scaled = layer.inputs.front();
  if (of.scale() != 1) scaled = model.add_part("Mul", layer, {scaled, factor});
  model.add("Add", layer, {scaled, shift});
  return {};
}

Result<void> convert_softmax(const CaffeLayer& layer, CaffeModel& model) {
  const std::int64_t axis = layer.layer.softmax_param().axis();
  if (from_front(axis, model) != 1) return not_read(layer, model, of_axis(axis));
  set_integer(model.add("Softmax", layer, layer.inputs), "axis", 1);
  return {};
}

Result<void> convert_copies(const CaffeLayer& layer, CaffeModel& model) {
  for (const std::string& output : layer.outputs) {
    const CaffeLayer one{layer.layer, layer.inputs, {output}};
    model.add("Identity", one, layer.inputs);
  }
  return {};
}

Result<void> convert_dropout(const CaffeLayer& layer, CaffeModel& model) {
  if (!layer.layer.dropout_param().scale_train()) return not_read(layer, model, "that scales when it is tested");
  return convert_copies(layer, model);
}

// Converts a layer that reads and writes nothing.
Result<void> convert_nothing(const CaffeLayer&, CaffeModel&) { return {}; }

// Divides channels: at the points that are named, or evenly.
Result<void> convert_slice(const CaffeLayer& layer, CaffeModel& model) {
  const caffe::SliceParameter& of = layer.layer.slice_param();
  const std::int64_t axis = of.has_slice_dim() ? std::int64_t{of.slice_dim()} : of.axis();
  if (from_front(axis, model) != 1) return not_read(layer, model, of_axis(axis));
  const std::size_t parts = layer.outputs.size();
  OnnxNumbers points(of.slice_point().begin(), of.slice_point().end());
  if (points.empty()) {
    onnx::NodeProto& node = model.add("Split", layer, layer.inputs);
    for (std::size_t i = 1; i < parts; ++i) node.add_output(layer.outputs[i]);
    set_integer(node, "axis", 1);
    for (const std::string& output : layer.outputs) model.set_extents(output, model.extents(layer.inputs.front()));
    return {};
  }
  if (points.size() + 1 != parts) {
    return CaffeModel::wrong(layer, "has " + std::to_string(points.size()) + " slice_points of " +
                                        std::to_string(parts) + " tops; one fewer is right");
  }
  points.insert(points.begin(), 0);
  points.push_back(std::numeric_limits<std::int64_t>::max());
  OnnxMessage& message = model.message();
  const std::string axes = message.integers(layer.layer.name() + "/axes", {1});
  for (std::size_t i = 0; i < parts; ++i) {
    const CaffeLayer one{layer.layer, layer.inputs, {layer.outputs[i]}};
    const std::string begin = message.integers(layer.layer.name() + "/begin", {points[i]});
    const std::string end = message.integers(layer.layer.name() + "/end", {points[i + 1]});
    model.add("Slice", one, {layer.inputs.front(), begin, end, axes});
  }
  return {};
}

Result<void> convert_flatten(const CaffeLayer& layer, CaffeModel& model) {
  const caffe::FlattenParameter& of = layer.layer.flatten_param();
  const bool is_whole = of.end_axis() == -1 || of.end_axis() == model.rank() + 1;
  if (from_front(of.axis(), model) != 1 || !is_whole) return not_read(layer, model, "of some axes");
  set_integer(model.add("Flatten", layer, layer.inputs), "axis", 1);
  model.note_row(layer.outputs.front());
  return {};
}

Result<void> convert_inner_product(const CaffeLayer& layer, CaffeModel& model) {
  const caffe::InnerProductParameter& of = layer.layer.inner_product_param();
  if (from_front(of.axis(), model) != 1) return not_read(layer, model, of_axis(of.axis()));
  const int blobs = of.bias_term() ? 2 : 1;
  const Result<std::int64_t> count = model.count(layer, 0, blobs);
  if (!count) return count.error();
  const std::int64_t outputs = of.num_output();
  if (outputs == 0 || *count % outputs != 0) {
    return CaffeModel::wrong(layer,
                             "has " + std::to_string(*count) + " weights of num_output " + std::to_string(outputs));
  }
  const std::int64_t numbers = *count / outputs;
  std::string row = layer.inputs.front();
  if (!model.is_row(row)) {
    row = model.add_part("Flatten", layer, {row});
  }
  const OnnxNumbers extents = of.transpose() ? OnnxNumbers{numbers, outputs} : OnnxNumbers{outputs, numbers};
  const Result<std::string> weights = model.constant(layer, 0, extents);
  if (!weights) return weights.error();
  std::vector<std::string> inputs = {row, *weights};
  if (of.bias_term()) {
    if (const auto counted = model.count(layer, 1, blobs); !counted) return counted.error();
    const Result<std::string> bias = model.constant(layer, 1, {outputs});
    if (!bias) return bias.error();
    inputs.push_back(*bias);
  }
  set_integer(model.add("Gemm", layer, inputs), "transB", of.transpose() ? 0 : 1);
  model.note_row(layer.outputs.front());
  return {};
}

struct CaffeRow {
  std::string_view type;
  Convert convert;
  int min_inputs = 1;
  bool writes = true;
};

constexpr std::array<CaffeRow, 22> rows = {{
    {"BatchNorm", convert_batch_norm},
    {"Bias", convert_bias},
    {"Concat", convert_concat},
    {"Convolution", convert_convolution},
    {"Crop", convert_crop, 2},
    {"Deconvolution", convert_deconvolution},
    {"Dropout", convert_dropout},
    {"DummyData", convert_dummy, 0},
    {"ELU", convert_elu},
    {"Eltwise", convert_eltwise},
    {"Flatten", convert_flatten},
    {"InnerProduct", convert_inner_product},
    {"PReLU", convert_prelu},
    {"Pooling", convert_pooling},
    {"Power", convert_power},
    {"ReLU", convert_relu},
    {"Scale", convert_scale},
    {"Sigmoid", convert_sigmoid},
    {"Silence", convert_nothing, 0, false},
    {"Slice", convert_slice},
    {"Softmax", convert_softmax},
    {"Split", convert_copies},
}};
constexpr CaffeRow tanh_row = {"TanH", convert_tanh};

const CaffeRow* find_row(std::string_view type) {
  if (type == tanh_row.type) return &tanh_row;
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const CaffeRow& known) { return known.type == type; });
  return row == rows.end() ? nullptr : &*row;
}

// Returns the name of a type that is not read: that of no operator of ONNX.
std::string unknown_type(const std::string& type) {
  onnx::NodeProto node;
  node.set_op_type(type);
  return type.empty() || find_onnx_operator(node) != nullptr ? type + " layer" : type;
}

}  // namespace

Result<void> convert_caffe_layer(const CaffeLayer& layer, CaffeModel& model) {
  const CaffeRow* row = find_row(layer.layer.type());
  if (row == nullptr) {
    model.refuse(layer, unknown_type(layer.layer.type()));
    return {};
  }
  if (static_cast<int>(layer.inputs.size()) < row->min_inputs || (row->writes && layer.outputs.empty())) {
    return CaffeModel::wrong(layer, "has " + std::to_string(layer.inputs.size()) + " bottoms and " +
                                        std::to_string(layer.outputs.size()) + " tops");
  }
  const bool reads_shape = std::any_of(layer.inputs.begin(), layer.inputs.end(),
                                       [&](const std::string& input) { return model.shape(input).has_value(); });
  if (reads_shape && row->type != "Crop" && row->writes) return not_read(layer, model, "of DummyData");
  return row->convert(layer, model);
}

bool is_caffe_layer(std::string_view type) { return type == "Input" || find_row(type) != nullptr; }

std::string caffe_layers() {
  std::string names;
  for (const CaffeRow& row : rows) names.append(names.empty() ? "" : ", ").append(row.type);
  return names + ", " + std::string(tanh_row.type);
}

}  // namespace znni
