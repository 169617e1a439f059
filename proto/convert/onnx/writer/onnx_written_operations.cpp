#include "proto/convert/onnx/writer/onnx_written_operations.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "proto/convert/base/errors.hpp"

namespace znni {
namespace {

constexpr std::int64_t channel_axis = 1;

// Appends nodes for the operation, one function for each kind of operation.
class OperationWriter {
 public:
  OperationWriter(const WrittenNode& written, OnnxMessage& message) : written_(written), message_(message) {}

  Result<void> operator()(const Convolution& conv) {
    const std::int64_t f = written_.channels / conv.groups;
    OnnxNumbers extents = {conv.f_out, f};
    const OnnxNumbers k = spatial_numbers(conv.k, message_.rank());
    extents.insert(extents.end(), k.begin(), k.end());
    const bool reflects = written_.pads_with == OutsideKind::reflect && written_.pads != Border{};
    const std::string read = reflects ? padded(written_.pads) : written_.inputs.front();
    std::vector<std::string> inputs = {read, floats(".weight", extents, written_.weights.kernels)};
    if (!written_.weights.bias.empty()) inputs.push_back(floats(".bias", {conv.f_out}, written_.weights.bias));
    onnx::NodeProto& node = last("Conv", inputs);
    set_integers(node, "kernel_shape", k);
    set_spatial(node, "dilations", conv.dilation);
    set_spatial(node, "strides", conv.stride);
    if (conv.groups != 1) set_integer(node, "group", conv.groups);
    if (!reflects) set_pads(node);
    return {};
  }

  Result<void> operator()(const Pooling& pool) {
    onnx::NodeProto& node = last(pool.kind == PoolKind::max ? "MaxPool" : "AveragePool", written_.inputs);
    set_integers(node, "kernel_shape", spatial_numbers(pool.window, message_.rank()));
    set_spatial(node, "strides", pool.stride);
    set_spatial(node, "dilations", pool.dilation);
    set_pads(node);
    if (pool.kind == PoolKind::average && written_.pads != Border{}) set_integer(node, "count_include_pad", 1);
    return {};
  }

  Result<void> operator()(const Activate& activate) {
    const Activation& own = activate.activation;
    switch (own.kind) {
      case ActivationKind::none: return unsupported("does nothing, which a file does not say; leave it out");
      case ActivationKind::relu: return plain("Relu");
      case ActivationKind::leaky_relu: return with_alpha("LeakyRelu", own.alpha);
      case ActivationKind::elu: return with_alpha("Elu", own.alpha);
      case ActivationKind::sigmoid: return plain("Sigmoid");
      case ActivationKind::tanh: return plain("Tanh");
      case ActivationKind::capped_relu: return clip(own.alpha);
      case ActivationKind::softplus: return plain("Softplus");
      case ActivationKind::silu: return gate();
      case ActivationKind::hard_swish: return plain("HardSwish");
      case ActivationKind::mish: return plain("Mish");
      case ActivationKind::gelu: return gelu("none");
      case ActivationKind::gelu_tanh: return gelu("tanh");
    }
    return unsupported("has an unknown activation");
  }

  Result<void> operator()(const PRelu&) {
    OnnxNumbers extents(static_cast<std::size_t>(message_.rank()) + 1, 1);
    extents.front() = written_.channels;
    last("PRelu", {written_.inputs.front(), floats(".slope", extents, written_.weights.scale)});
    return {};
  }

  Result<void> operator()(const AcrossChannels& across) {
    switch (across.kind) {
      case AcrossKind::softmax: return over_channels("Softmax");
      case AcrossKind::log_softmax: return over_channels("LogSoftmax");
      case AcrossKind::arg_max: return arg_max(0);
      case AcrossKind::arg_max_last: return arg_max(1);
      case AcrossKind::norm: return layer_norm(across.epsilon);
      case AcrossKind::unit: return unit_length(across.epsilon);
    }
    return unsupported("has an unknown operation over channels");
  }

  // A batch normalisation by a mean of 0 and a deviation of 1, so that scale and shift stay as they are.
  Result<void> operator()(const ScaleShift&) {
    const OnnxNumbers f = {written_.channels};
    const std::vector<float> zeros(static_cast<std::size_t>(written_.channels), 0.0F);
    const std::vector<float> ones(static_cast<std::size_t>(written_.channels), 1.0F);
    const std::vector<std::string> inputs = {written_.inputs.front(), floats(".scale", f, written_.weights.scale),
                                             floats(".shift", f, written_.weights.shift), floats(".mean", f, zeros),
                                             floats(".variance", f, ones)};
    set_real(last("BatchNormalization", inputs), "epsilon", 0);
    return {};
  }

  Result<void> operator()(const Add&) {
    if (written_.inputs.size() == 2) return plain("Add");
    return unsupported("adds " + std::to_string(written_.inputs.size()) +
                       " tensors, which a file does in several nodes; write the network as it was read");
  }

  // Swaps two tensors of one channel each, because a reader takes the second for the one that is multiplied.
  Result<void> operator()(const Multiply&) {
    std::vector<std::string> inputs = written_.inputs;
    if (written_.channels == 1) std::swap(inputs.front(), inputs.back());
    last("Mul", inputs);
    return {};
  }
  Result<void> operator()(const Divide&) { return plain("Div"); }
  Result<void> operator()(const Concat&) { return over_channels("Concat"); }

  Result<void> operator()(const Crop&) {
    constexpr std::int64_t to_the_end = std::numeric_limits<std::int64_t>::max();
    const Crop& crop = written_.crop;
    if (!covers(min(crop.begin, crop.end), {})) return copies({Vec3{} - crop.begin, Vec3{} - crop.end});
    OnnxNumbers starts = spatial_numbers(crop.begin, message_.rank());
    OnnxNumbers ends = spatial_numbers(crop.end, message_.rank());
    OnnxNumbers axes;
    for (std::int64_t& end : ends) {
      end = end == 0 ? to_the_end : -end;
      axes.push_back(static_cast<std::int64_t>(axes.size()) + 2);
    }
    last("Slice",
         {written_.inputs.front(), integers(".starts", starts), integers(".ends", ends), integers(".axes", axes)});
    return {};
  }

  Result<void> operator()(const Upsample& up) {
    switch (up.kind) {
      case UpsampleKind::nearest: return resize(up, "nearest", "asymmetric");
      case UpsampleKind::linear: return resize(up, "linear", "half_pixel");
      case UpsampleKind::aligned: return resize(up, "linear", "align_corners");
      case UpsampleKind::shuffle: break;
    }
    return unsupported("moves channels to voxels (a pixel shuffle), which is not written");
  }

  Result<void> operator()(const Norm& norm) {
    if (norm.kind == NormKind::response) return unsupported("is a global response normalisation, which is not written");
    const OnnxNumbers f = {written_.channels};
    const std::vector<std::string> inputs = {written_.inputs.front(), floats(".scale", f, written_.weights.scale),
                                             floats(".shift", f, written_.weights.shift)};
    const bool is_of_channels = norm.groups == written_.channels;
    onnx::NodeProto& node = last(is_of_channels ? "InstanceNormalization" : "GroupNormalization", inputs);
    if (!is_of_channels) set_integer(node, "num_groups", norm.groups);
    set_real(node, "epsilon", norm.epsilon);
    return {};
  }

  Result<void> operator()(const Attention&) { return unsupported("is attention, which is not written"); }
  Result<void> operator()(const AddVolume&) { return unsupported("adds a constant volume, which is not written"); }

  Result<void> operator()(const Stack&) { return unsupported("is a stack, which is taken apart before it is written"); }

  Result<void> operator()(const GlobalPool& pool) {
    return plain(pool.kind == PoolKind::max ? "GlobalMaxPool" : "GlobalAveragePool");
  }

 private:
  onnx::NodeProto& last(std::string_view operation, const std::vector<std::string>& inputs) {
    return message_.node(operation, written_.node.name, inputs, written_.output);
  }

  // Adds a node that is part of the operation, and returns what it writes.
  std::string part(std::string_view operation, const std::string& suffix, const std::vector<std::string>& inputs) {
    const std::string output = message_.free_name(written_.node.name + suffix);
    message_.node(operation, output, inputs, output);
    return output;
  }

  std::string floats(const std::string& suffix, const OnnxNumbers& extents, std::span<const float> values) {
    return message_.floats(written_.node.name + suffix, extents, values);
  }
  std::string integers(const std::string& suffix, const OnnxNumbers& values) {
    return message_.integers(written_.node.name + suffix, values);
  }
  std::string number(const std::string& suffix, float value) {
    return message_.number(written_.node.name + suffix, value);
  }

  // Leaves out what is 1 along all axes.
  void set_spatial(onnx::NodeProto& node, std::string_view name, Vec3 numbers) const {
    if (numbers != Vec3::cube(1)) set_integers(node, name, spatial_numbers(numbers, message_.rank()));
  }
  void set_pads(onnx::NodeProto& node) const {
    if (written_.pads != Border{}) set_integers(node, "pads", spatial_numbers(written_.pads, message_.rank()));
  }

  // Returns the numbers of a Pad, which names all axes: that of inputs and that of channels, too.
  std::string pads_input(const Border& pads) {
    OnnxNumbers numbers = spatial_numbers(pads, message_.rank());
    numbers.insert(numbers.begin() + message_.rank(), 2, 0);
    numbers.insert(numbers.begin(), 2, 0);
    return integers(".pads", numbers);
  }
  void set_mode(onnx::NodeProto& node) const {
    set_text(node, "mode", written_.pads_with == OutsideKind::reflect ? "reflect" : "edge");
  }

  // Adds a Pad of the first input that is part of the operation, and returns what it writes.
  std::string padded(const Border& pads) {
    const std::string output = message_.free_name(written_.node.name + ".padded");
    set_mode(message_.node("Pad", output, {written_.inputs.front(), pads_input(pads)}, output));
    return output;
  }

  // Adds a Pad that copies voxels outwards.
  Result<void> copies(const Border& pads) {
    set_mode(last("Pad", {written_.inputs.front(), pads_input(pads)}));
    return {};
  }

  Result<void> plain(std::string_view operation) {
    last(operation, written_.inputs);
    return {};
  }

  Result<void> with_alpha(std::string_view operation, float alpha) {
    set_real(last(operation, written_.inputs), "alpha", alpha);
    return {};
  }

  Result<void> over_channels(std::string_view operation) {
    set_integer(last(operation, written_.inputs), "axis", channel_axis);
    return {};
  }

  Result<void> clip(float most) {
    last("Clip", {written_.inputs.front(), number(".min", 0), number(".max", most)});
    return {};
  }

  Result<void> gate() {
    const std::string& x = written_.inputs.front();
    last("Mul", {x, part("Sigmoid", ".sigmoid", {x})});
    return {};
  }

  Result<void> gelu(std::string_view approximate) {
    set_text(last("Gelu", written_.inputs), "approximate", approximate);
    return {};
  }

  // The numbers of channels become floats, as all that the network computes.
  Result<void> arg_max(std::int64_t select_last) {
    const std::string whole = message_.free_name(written_.node.name + ".int64");
    onnx::NodeProto& node = message_.node("ArgMax", written_.node.name, written_.inputs, whole);
    set_integer(node, "axis", channel_axis);
    set_integer(node, "keepdims", 1);
    if (select_last != 0) set_integer(node, "select_last_index", select_last);
    onnx::NodeProto& cast =
        message_.node("Cast", message_.free_name(written_.node.name + ".float"), {whole}, written_.output);
    set_integer(cast, "to", onnx::TensorProto::FLOAT);
    return {};
  }

  // Written as several nodes, because LayerNormalization goes over the last axes alone.
  Result<void> layer_norm(float epsilon) {
    const std::string& x = written_.inputs.front();
    const std::string mean = over_channels("ReduceMean", x, ".mean");
    const std::string off = part("Sub", ".off", {x, mean});
    const std::string square = part("Mul", ".square", {off, off});
    const std::string variance = over_channels("ReduceMean", square, ".variance");
    const std::string sum = part("Add", ".sum", {variance, number(".epsilon", epsilon)});
    last("Div", {off, part("Sqrt", ".deviation", {sum})});
    return {};
  }

  // Written as several nodes, because LpNormalization has no epsilon.
  Result<void> unit_length(float epsilon) {
    const std::string& x = written_.inputs.front();
    const std::string length = over_channels("ReduceL2", x, ".length");
    last("Div", {x, part("Clip", ".divisor", {length, number(".epsilon", epsilon)})});
    return {};
  }

  std::string over_channels(std::string_view reduction, const std::string& tensor, const std::string& suffix) {
    constexpr std::int64_t opset_of_inputs = 18;  // before, the axes are an attribute
    const bool has_input = message_.model().opset_import(0).version() >= opset_of_inputs;
    const std::string output = message_.free_name(written_.node.name + suffix);
    std::vector<std::string> inputs = {tensor};
    if (has_input) inputs.push_back(integers(suffix + ".axes", {channel_axis}));
    onnx::NodeProto& node = message_.node(reduction, output, inputs, output);
    if (!has_input) set_integers(node, "axes", {channel_axis});
    return output;
  }

  Result<void> resize(const Upsample& up, std::string_view mode, std::string_view coordinates) {
    std::vector<float> scales = {1, 1};
    for (const std::int64_t factor : spatial_numbers(up.factor, message_.rank())) {
      scales.push_back(static_cast<float>(factor));
    }
    const std::string name = floats(".scales", {static_cast<std::int64_t>(scales.size())}, scales);
    onnx::NodeProto& node = last("Resize", {written_.inputs.front(), "", name});
    set_text(node, "mode", mode);
    set_text(node, "coordinate_transformation_mode", coordinates);
    if (mode == "nearest") set_text(node, "nearest_mode", "floor");
    return {};
  }

  const WrittenNode& written_;
  OnnxMessage& message_;
};

// The version that brought what the operation is written as.
std::int64_t opset_of(const Node& node, std::int64_t channels) {
  constexpr std::int64_t oldest = 17;
  if (const auto* activate = std::get_if<Activate>(&node.operation)) {
    const ActivationKind kind = activate->activation.kind;
    if (kind == ActivationKind::mish) return 18;
    return kind == ActivationKind::gelu || kind == ActivationKind::gelu_tanh ? 20 : oldest;
  }
  const auto* pool = std::get_if<Pooling>(&node.operation);
  if (pool != nullptr && pool->kind != PoolKind::max && pool->dilation != Vec3::cube(1)) return 19;
  const auto* norm = std::get_if<Norm>(&node.operation);
  return norm != nullptr && norm->groups != channels ? 21 : oldest;
}

}  // namespace

std::int64_t opset_of(const Network& network) {
  const std::vector<std::int64_t> f = channels_of(network);
  std::int64_t opset = 17;
  for (const Node& node : network.nodes) {
    opset = std::max(opset, opset_of(node, f[static_cast<std::size_t>(node.inputs.front())]));
  }
  return opset;
}

Result<void> write_operation(const WrittenNode& written, OnnxMessage& message) {
  return std::visit(OperationWriter(written, message), written.node.operation);
}

}  // namespace znni
