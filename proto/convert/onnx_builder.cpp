#include "proto/convert/onnx_builder.hpp"

#include <algorithm>
#include <cmath>

#include "proto/convert/errors.hpp"

namespace znni {

namespace {

std::int64_t parameters_of(const NodeWeights& weights) {
  return static_cast<std::int64_t>(weights.kernels.size() + weights.bias.size() + weights.scale.size() +
                                   weights.shift.size());
}

Vec3 declared_extent(const onnx::ValueInfoProto& input, int rank) {
  constexpr std::int64_t most = std::int64_t{1} << 31;
  const onnx::TensorShapeProto& shape = input.type().tensor_type().shape();
  Vec3 extent;
  for (int i = 0; i < rank && i + 2 < shape.dim_size(); ++i) {
    const std::int64_t n = shape.dim(i + 2).dim_value();  // 0 where there is none
    if (n > 0 && n <= most) extent[3 - rank + i] = n;
  }
  return extent;
}

Vec3 extent_after(const Operation& operation, Vec3 n) {
  Vec3 lost;
  Vec3 stride = Vec3::cube(1);
  const auto* up = std::get_if<Upsample>(&operation);
  if (up != nullptr) lost = upsampling_window(up->kind, up->factor) - stride;
  if (const auto* conv = std::get_if<Convolution>(&operation)) {
    lost = dilated(conv->k, conv->dilation) - stride;
    stride = conv->stride;
  }
  if (const auto* crop = std::get_if<Crop>(&operation)) lost = crop->begin + crop->end;
  if (const auto* pool = std::get_if<Pooling>(&operation)) {
    lost = pool->window - stride;
    stride = pool->stride;
  }
  for (int axis = 0; axis < 3; ++axis) {
    n[axis] = n[axis] > lost[axis] ? (n[axis] - lost[axis] - 1) / stride[axis] + 1 : 0;
  }
  if (up != nullptr) n = n * up->factor;
  // Far beyond any volume: as if the file had left it open.
  for (int axis = 0; axis < 3; ++axis) n[axis] = n[axis] > std::int64_t{1} << 40 ? 0 : n[axis];
  return n;
}

// Returns the position of an element in its tensor, "[3, 0, 1]".
std::string position_text(const onnx::TensorProto& tensor, std::int64_t element) {
  std::string text;
  for (int axis = tensor.dims_size(); axis-- > 0; element /= tensor.dims(axis)) {
    const std::string rest = text.empty() ? "" : ", " + text;
    text = std::to_string(element % tensor.dims(axis)) + rest;
  }
  return "[" + text + "]";
}

}  // namespace

OnnxBuilder::OnnxBuilder(const OnnxGraph& graph, int rank, std::int64_t f_in, std::int64_t most_parameters,
                         ReadFloats read)
    : graph_(graph), rank_(rank), most_parameters_(most_parameters), read_(std::move(read)) {
  network_.spatial_rank = rank;
  network_.f_in = f_in;
  network_.input_name = graph.input->name();
  network_.output_name = graph.output;
  names_.emplace(graph.input->name(), 1);
  values_.emplace(graph.input->name(), 0);
  images_.push_back(f_in);
  extents_.push_back(declared_extent(*graph.input, rank));
  guessed_.push_back(false);
}

bool OnnxBuilder::has_input(const onnx::NodeProto& node, int index) {
  return index < node.input_size() && !node.input(index).empty();
}

const onnx::TensorProto* OnnxBuilder::constant(const onnx::NodeProto& node, int index) const {
  if (!has_input(node, index)) return nullptr;
  const auto found = graph_.constants.find(node.input(index));
  return found == graph_.constants.end() ? nullptr : found->second;
}

Result<std::vector<float>> OnnxBuilder::floats_of(const onnx::TensorProto& constant) const {
  Result<std::vector<float>> values = read_(constant);
  if (!values) return values;
  const auto bad = std::find_if(values->begin(), values->end(), [](float value) { return !std::isfinite(value); });
  if (bad == values->end()) return values;
  return corrupt("element " + position_text(constant, bad - values->begin()) + " is " + std::to_string(*bad) +
                 " as float32; finite numbers are right: train or export the network again")
      .within("tensor " + in_quotes(constant.name()));
}

int OnnxBuilder::value_of(const std::string& tensor) const {
  const auto found = values_.find(tensor);
  return found == values_.end() ? -1 : found->second;
}

Result<int> OnnxBuilder::value(const onnx::NodeProto& node, int index) const {
  if (!has_input(node, index)) return corrupt("input " + std::to_string(index) + " is missing");
  const int found = value_of(node.input(index));
  if (found >= 0) return found;
  const char* why = constant(node, index) != nullptr       ? " is a constant"
                    : turned(node.input(index)) != nullptr ? " is transposed"
                                                           : " is not the first output of a node";
  return unsupported("input " + in_quotes(node.input(index)) + why + ", which is not supported here");
}

Result<std::vector<float>> OnnxBuilder::vector(const onnx::NodeProto& node, int index, std::int64_t count) const {
  if (!has_input(node, index)) return corrupt("input " + std::to_string(index) + " is missing");
  const onnx::TensorProto* tensor = constant(node, index);
  if (tensor == nullptr)
    return unsupported("input " + in_quotes(node.input(index)) + " is computed; only constants are supported");
  Result<std::vector<float>> values = floats_of(*tensor);
  if (!values || count == unknown_images || static_cast<std::int64_t>(values->size()) == count) return values;
  return corrupt("input " + in_quotes(node.input(index)) + " has " + std::to_string(values->size()) +
                 " elements; one per image, " + std::to_string(count) + ", is right");
}

std::string OnnxBuilder::free_name(const std::string& name) {
  std::string found = name;
  for (int& asked = names_[name]; asked > 0 && names_.contains(found);) found = name + " #" + std::to_string(++asked);
  ++names_[found];
  return found;
}

int OnnxBuilder::add_node(const onnx::NodeProto& node, Operation operation, std::vector<int> inputs,
                          std::int64_t images, NodeWeights weights, const Border& pads) {
  const Vec3 n = extents_[static_cast<std::size_t>(inputs.front())];
  Vec3 padded;
  for (int axis = 0; axis < 3; ++axis) padded[axis] = n[axis] > 0 ? n[axis] + pads.begin[axis] + pads.end[axis] : 0;
  extents_.push_back(extent_after(operation, padded));
  pads_.push_back(pads);
  guessed_.push_back(std::any_of(inputs.begin(), inputs.end(), [this](int input) { return is_guessed(input); }));
  network_.nodes.push_back({free_name(name_of(node)), operation, std::move(inputs)});
  if (is_refused_) weights = {};
  parameters_ = add(parameters_, parameters_of(weights));
  weights_.push_back(std::move(weights));
  images_.push_back(images);
  return static_cast<int>(network_.nodes.size());
}

void OnnxBuilder::append(const onnx::NodeProto& node, Operation operation, std::vector<int> inputs, std::int64_t images,
                         NodeWeights weights, const Border& pads) {
  alias(node, add_node(node, operation, std::move(inputs), images, std::move(weights), pads));
}

int OnnxBuilder::append_part(const onnx::NodeProto& node, Operation operation, int input, std::int64_t images,
                             NodeWeights weights, const Border& pads) {
  return add_node(node, operation, {input}, images, std::move(weights), pads);
}

bool OnnxBuilder::is_padded() const {
  return std::any_of(pads_.begin(), pads_.end(), [](const Border& pads) { return pads != Border{}; });
}

void OnnxBuilder::alias(const onnx::NodeProto& node, int value) { values_.emplace(node.output(0), value); }

void OnnxBuilder::refuse(const onnx::NodeProto& node, const std::string& like) {
  if (!is_refused_) std::fill(weights_.begin(), weights_.end(), NodeWeights());
  is_refused_ = true;
  const int known = value_of(like);
  const auto source = static_cast<std::size_t>(std::max(known, 0));
  for (const std::string& output : node.output()) {
    if (output.empty()) continue;
    images_.push_back(known < 0 ? unknown_images : images_[source]);
    extents_.push_back(known < 0 ? Vec3() : extents_[source]);
    guessed_.push_back(known < 0 || guessed_[source]);
    pads_.emplace_back();
    weights_.emplace_back();
    network_.nodes.push_back({"", Activate{}, {static_cast<int>(source)}});
    values_.insert_or_assign(output, static_cast<int>(network_.nodes.size()));
    turned_.erase(output);
  }
}

void OnnxBuilder::turn(const onnx::NodeProto& node, TurnedValue turned) {
  values_.erase(node.output(0));
  turned_.insert_or_assign(node.output(0), std::move(turned));
}

const TurnedValue* OnnxBuilder::turned(const std::string& tensor) const {
  const auto found = turned_.find(tensor);
  return found == turned_.end() ? nullptr : &found->second;
}

void OnnxBuilder::note_flattened(const onnx::NodeProto& node) {
  flattened_.push_back({&node, static_cast<int>(network_.nodes.size())});
}

Result<void> OnnxBuilder::check_limits() const {
  if (images_.back() > most_onnx_images) {
    return unsupported("writes " + std::to_string(images_.back()) + " images; at most " +
                       std::to_string(most_onnx_images) + " are supported");
  }
  if (parameters_ > most_parameters_) {
    return unsupported("brings the net to " + std::to_string(parameters_) + " parameters; at most " +
                       std::to_string(most_parameters_) + " are plausible for a file of this size");
  }
  return {};
}

}  // namespace znni
