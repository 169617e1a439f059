#include "proto/convert/onnx/graph/onnx_builder.hpp"

#include <algorithm>
#include <cmath>

#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/graph/onnx_inputs.hpp"

namespace znni {

namespace {

std::int64_t parameters_of(const NodeWeights& weights) {
  return static_cast<std::int64_t>(weights.kernels.size() + weights.bias.size() + weights.scale.size() +
                                   weights.shift.size());
}

// Returns the new number of each value of a network that keeps only what `output` needs; -1 for those that go.
std::vector<int> numbers_of_needed(const Network& network, int output) {
  std::vector<int> numbers(network.nodes.size() + 1, -1);
  numbers[static_cast<std::size_t>(output)] = 0;
  for (std::size_t value = numbers.size(); value-- > 1;) {
    if (numbers[value] < 0) continue;
    for (const int input : network.nodes[value - 1].inputs) numbers[static_cast<std::size_t>(input)] = 0;
  }
  numbers.front() = 0;
  int next = 0;
  for (std::size_t value = 1; value < numbers.size(); ++value) {
    if (numbers[value] == 0) numbers[value] = ++next;
  }
  return numbers;
}

// Keeps the elements whose value has a new number. `first` is the value of the first element.
template <class Element>
void keep_numbered(std::vector<Element>& elements, const std::vector<int>& numbers, std::size_t first) {
  std::vector<Element> kept;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (numbers[i + first] >= 0) kept.push_back(std::move(elements[i]));
  }
  elements = std::move(kept);
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

OnnxBuilder::OnnxBuilder(const OnnxGraph& graph, int rank, std::int64_t f_in, std::int64_t max_parameters,
                         ReadFloats read)
    : graph_(graph), rank_(rank), max_parameters_(max_parameters), read_(std::move(read)) {
  network_.spatial_rank = rank;
  network_.f_in = f_in;
  network_.input_name = graph.input;
  network_.output_name = graph.output;
  if (graph.split) {
    for (const onnx::ValueInfoProto* input : graph.inputs) {
      network_.inputs.push_back({input->name(), declared_channels(*input)});
    }
  }
  names_.emplace(graph.input, 1);
  if (graph.channels_last) {
    std::vector<int> axes = {0};
    for (int axis = 2; axis < rank + 2; ++axis) axes.push_back(axis);
    axes.push_back(1);
    turned_.emplace(graph.input, TurnedValue{0, std::move(axes)});
  } else {
    values_.emplace(graph.input, 0);
  }
  channels_.push_back(f_in);
  guessed_.push_back(false);
  ways_.emplace_back();
  extents_.push_back({declared_extent(graph, rank), {}});
  batch_ = declared_batch(graph);
}

bool OnnxBuilder::has_input(const onnx::NodeProto& node, int index) {
  return index < node.input_size() && !node.input(index).empty();
}

const onnx::TensorProto* OnnxBuilder::constant(const onnx::NodeProto& node, int index) const {
  if (!has_input(node, index)) return nullptr;
  const auto found = graph_.constants.find(node.input(index));
  return found == graph_.constants.end() ? known_.constant(node.input(index)) : found->second;
}

bool OnnxBuilder::is_known(const std::string& tensor) const {
  return known_.find(tensor) != nullptr || known_.constant(tensor) != nullptr || graph_.constants.contains(tensor);
}

std::optional<KnownTensor> OnnxBuilder::known_at(const onnx::NodeProto& node, int index) const {
  if (!has_input(node, index)) return std::nullopt;
  if (const KnownTensor* found = known_.find(node.input(index)); found != nullptr) return *found;
  const onnx::TensorProto* tensor = constant(node, index);
  return tensor == nullptr ? std::nullopt : known_tensor_of(*tensor);
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
  const char* why = constant(node, index) != nullptr        ? " is a constant"
                    : is_known(node.input(index))           ? " is computed from extents"
                    : turned(node.input(index)) != nullptr  ? " is transposed"
                    : grouped(node.input(index)) != nullptr ? " is reshaped into groups of channels"
                    : split(node.input(index)) != nullptr   ? " is reshaped into voxels of channels"
                    : plane(node.input(index)) != nullptr   ? " is one voxel along an axis of another tensor"
                                                            : " is not the first output of a node";
  return unsupported("input " + in_quotes(node.input(index)) + why + ", which is not supported here");
}

Result<std::vector<float>> OnnxBuilder::vector(const onnx::NodeProto& node, int index, std::int64_t count) const {
  if (!has_input(node, index)) return corrupt("input " + std::to_string(index) + " is missing");
  const onnx::TensorProto* tensor = constant(node, index);
  if (tensor == nullptr)
    return unsupported("input " + in_quotes(node.input(index)) + " is computed; only constants are supported");
  Result<std::vector<float>> values = floats_of(*tensor);
  if (!values || count == unknown_channels || static_cast<std::int64_t>(values->size()) == count) return values;
  return corrupt("input " + in_quotes(node.input(index)) + " has " + std::to_string(values->size()) +
                 " elements; one per channel, " + std::to_string(count) + ", is right");
}

std::string OnnxBuilder::free_name(const std::string& name) {
  std::string found = name;
  for (int& asked = names_[name]; asked > 0 && names_.contains(found);) found = name + " #" + std::to_string(++asked);
  ++names_[found];
  return found;
}

void OnnxBuilder::add_extents(const Operation& operation, const std::vector<int>& inputs, const Border& pads,
                              bool joins_outputs) {
  const VolumeExtents& first = extents(inputs.front());
  const ExtentAfter after = extents_after(operation, pads, first);
  for (int axis = 0; axis < 3; ++axis) {
    const bool meet = std::all_of(inputs.begin(), inputs.end(), [&](int input) {
      return extents(input).least[axis] == first.least[axis] && extents(input).step[axis] == first.step[axis];
    });
    misfits_.unmet[axis] += meet || joins_outputs ? 0 : 1;
    misfits_.unread[axis] += after.rest[axis] > 0 ? 1 : 0;
  }
  extents_.push_back(after.extents);
}

void OnnxBuilder::add_way(const Operation& operation, const std::vector<int>& inputs, const Border& pads) {
  WayOfValue all = {pads != Border{}, std::holds_alternative<Upsample>(operation), reads_all_voxels(operation)};
  for (const int input : inputs) {
    const WayOfValue before = way(input);
    all = {all.pads || before.pads, all.upsamples || before.upsamples, all.reads_all || before.reads_all};
  }
  ways_.push_back(all);
}

int OnnxBuilder::add_node(const onnx::NodeProto& node, Operation operation, std::vector<int> inputs,
                          std::int64_t channels, NodeWeights weights, const Border& pads) {
  add_extents(operation, inputs, pads, &node == graph_.join.get());
  add_way(operation, inputs, pads);
  pads_.push_back(pads);
  guessed_.push_back(std::any_of(inputs.begin(), inputs.end(), [this](int input) { return is_guessed(input); }));
  network_.nodes.push_back({free_name(name_of(node)), operation, std::move(inputs)});
  if (is_refused_) weights = {};
  parameters_ = add(parameters_, parameters_of(weights));
  if (keeps_weights_) weights_.push_back(std::move(weights));
  channels_.push_back(channels);
  return static_cast<int>(network_.nodes.size());
}

void OnnxBuilder::append(const onnx::NodeProto& node, Operation operation, std::vector<int> inputs,
                         std::int64_t channels, NodeWeights weights, const Border& pads) {
  alias(node, add_node(node, operation, std::move(inputs), channels, std::move(weights), pads));
}

int OnnxBuilder::append_part(const onnx::NodeProto& node, Operation operation, int input, std::int64_t channels,
                             NodeWeights weights, const Border& pads) {
  return add_node(node, operation, {input}, channels, std::move(weights), pads);
}

int OnnxBuilder::append_part(const onnx::NodeProto& node, Operation operation, std::vector<int> inputs,
                             std::int64_t channels) {
  return add_node(node, operation, std::move(inputs), channels, {}, {});
}

bool OnnxBuilder::is_padded() const {
  return std::any_of(pads_.begin(), pads_.end(), [](const Border& pads) { return pads != Border{}; });
}

void OnnxBuilder::alias(const onnx::NodeProto& node, int value) { values_.emplace(node.output(0), value); }

void OnnxBuilder::name(const std::string& tensor, int value) {
  if (!tensor.empty()) values_.emplace(tensor, value);
}

void OnnxBuilder::refuse(const onnx::NodeProto& node, const std::string& like) {
  if (!is_refused_) std::fill(weights_.begin(), weights_.end(), NodeWeights());
  is_refused_for_all_ = is_refused_for_all_ || (!is_refused_ && !known_.depend_on_volume());
  is_refused_ = true;
  const int known = value_of(like);
  const auto source = static_cast<std::size_t>(std::max(known, 0));
  for (const std::string& output : node.output()) {
    if (output.empty()) continue;
    channels_.push_back(known < 0 ? unknown_channels : channels_[source]);
    extents_.push_back(known < 0 ? VolumeExtents() : extents_[source]);
    guessed_.push_back(known < 0 || guessed_[source]);
    ways_.push_back(known < 0 ? WayOfValue() : ways_[source]);
    pads_.emplace_back();
    if (keeps_weights_) weights_.emplace_back();
    network_.nodes.push_back({"", Activate{}, {static_cast<int>(source)}});
    values_.insert_or_assign(output, static_cast<int>(network_.nodes.size()));
    turned_.erase(output);
    planes_.erase(output);
    grouped_.erase(output);
    split_.erase(output);
    pooled_.erase(output);
    flat_.erase(output);
    if (const FlatTensor* found = flat(like); found != nullptr) flat_.emplace(output, *found);
    if (const int axes = pooled_axes(like); axes > 0) pooled_.emplace(output, axes);
  }
}

void OnnxBuilder::guess_numbers(const onnx::NodeProto& node) {
  guess(node);
  guessed_numbers_.insert(node.output().begin(), node.output().end());
}

bool OnnxBuilder::reads_guess(const onnx::NodeProto& node) const {
  return std::any_of(node.input().begin(), node.input().end(),
                     [this](const std::string& input) { return is_guessed_number(input); });
}

bool OnnxBuilder::guess_reader(const onnx::NodeProto& node) {
  const bool reads = reads_guess(node);
  if (reads) guess(node);
  return reads;
}

bool OnnxBuilder::is_written(const std::string& tensor) const {
  const bool is_value = value_of(tensor) >= 0 || turned(tensor) != nullptr || plane(tensor) != nullptr ||
                        grouped(tensor) != nullptr || split(tensor) != nullptr;
  return is_value || is_known(tensor) || known_.sequence(tensor) != nullptr;
}

Result<void> OnnxBuilder::pass_on(const std::string& from, const std::string& to) {
  if (is_written(to)) return corrupt("tensor " + in_quotes(to) + " is written twice");
  if (const std::int64_t count = whole(from); count > 0) note_whole(to, count);
  if (const int value = value_of(from); value >= 0) {
    values_.emplace(to, value);
    if (const int axes = pooled_axes(from); axes > 0) pooled_.emplace(to, axes);
    if (const FlatTensor* found = flat(from); found != nullptr) flat_.emplace(to, *found);
    return {};
  }
  if (const TurnedValue* found = turned(from); found != nullptr) {
    turned_.emplace(to, *found);
    return {};
  }
  if (const GroupedValue* found = grouped(from); found != nullptr) {
    grouped_.emplace(to, *found);
    return {};
  }
  if (const SplitValue* found = split(from); found != nullptr) {
    split_.emplace(to, *found);
    return {};
  }
  if (const std::vector<KnownTensor>* found = known_.sequence(from); found != nullptr) {
    return known_.set_sequence(to, *found);
  }
  onnx::NodeProto reader;
  reader.add_input(from);
  const std::optional<KnownTensor> known = known_at(reader, 0);
  if (known) return known_.set(to, *known);
  return unsupported("tensor " + in_quotes(from) + " is no value of the net, and too large for a constant here");
}

void OnnxBuilder::turn(const onnx::NodeProto& node, TurnedValue turned) {
  values_.erase(node.output(0));
  turned_.insert_or_assign(node.output(0), std::move(turned));
}

const TurnedValue* OnnxBuilder::turned(const std::string& tensor) const {
  const auto found = turned_.find(tensor);
  return found == turned_.end() ? nullptr : &found->second;
}

void OnnxBuilder::name_plane(const std::string& tensor, PlaneOfValue plane) {
  planes_.insert_or_assign(tensor, std::move(plane));
}

const PlaneOfValue* OnnxBuilder::plane(const std::string& tensor) const {
  const auto found = planes_.find(tensor);
  return found == planes_.end() ? nullptr : &found->second;
}

void OnnxBuilder::settle(const std::string& tensor) {
  const auto found = turned_.find(tensor);
  ensure(found != turned_.end(), "a turned value is settled");
  values_.emplace(tensor, found->second.value);
  turned_.erase(found);
}

void OnnxBuilder::group(const onnx::NodeProto& node, GroupedValue grouped) {
  values_.erase(node.output(0));
  grouped_.insert_or_assign(node.output(0), grouped);
}

const GroupedValue* OnnxBuilder::grouped(const std::string& tensor) const {
  const auto found = grouped_.find(tensor);
  return found == grouped_.end() ? nullptr : &found->second;
}

void OnnxBuilder::split(const onnx::NodeProto& node, const SplitValue& split) {
  values_.erase(node.output(0));
  split_.insert_or_assign(node.output(0), split);
}

const SplitValue* OnnxBuilder::split(const std::string& tensor) const {
  const auto found = split_.find(tensor);
  return found == split_.end() ? nullptr : &found->second;
}

int OnnxBuilder::pooled_axes(const std::string& tensor) const {
  const auto found = pooled_.find(tensor);
  return found == pooled_.end() ? 0 : found->second;
}

const FlatTensor* OnnxBuilder::flat(const std::string& tensor) const {
  const auto found = flat_.find(tensor);
  return found == flat_.end() ? nullptr : &found->second;
}

bool OnnxBuilder::are_all_inputs(const std::vector<int>& values) const {
  const auto is_next = [this](const onnx::ValueInfoProto* input, int value) {
    return value_of(input->name()) == value;
  };
  return graph_.split && std::equal(graph_.inputs.begin(), graph_.inputs.end(), values.begin(), values.end(), is_next);
}

void OnnxBuilder::drop_unread(const std::string& tensor) {
  const int output = value_of(tensor);
  if (output < 0) return;
  const std::vector<int> numbers = numbers_of_needed(network_, output);
  const auto number = [&](int value) { return numbers[static_cast<std::size_t>(value)]; };
  keep_numbered(network_.nodes, numbers, 1);
  keep_numbered(weights_, numbers, 1);
  keep_numbered(pads_, numbers, 1);
  keep_numbered(channels_, numbers, 0);
  keep_numbered(extents_, numbers, 0);
  keep_numbered(guessed_, numbers, 0);
  keep_numbered(ways_, numbers, 0);
  for (Node& node : network_.nodes) {
    for (int& input : node.inputs) input = number(input);
  }
  std::erase_if(values_, [&](const auto& named) { return number(named.second) < 0; });
  for (auto& [name, value] : values_) value = number(value);
  std::erase_if(flattened_, [&](const Flattened& softmax) { return number(softmax.value) < 0; });
  for (Flattened& softmax : flattened_) softmax.value = number(softmax.value);
  turned_.clear();  // none is the output
  planes_.clear();
  grouped_.clear();
  split_.clear();
  tokens_.clear();
}

void OnnxBuilder::note_flattened(const onnx::NodeProto& node) {
  flattened_.push_back({&node, static_cast<int>(network_.nodes.size())});
}

Result<void> OnnxBuilder::check_limits() const {
  if (channels_.back() > max_onnx_channels) {
    return unsupported("writes " + std::to_string(channels_.back()) + " channels; at most " +
                       std::to_string(max_onnx_channels) + " are supported");
  }
  if (parameters_ > max_parameters_) {
    return unsupported("brings the net to " + std::to_string(parameters_) + " parameters; at most " +
                       std::to_string(max_parameters_) + " are plausible for a file of this size");
  }
  return {};
}

}  // namespace znni
