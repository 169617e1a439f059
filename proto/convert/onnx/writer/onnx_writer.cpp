#include "proto/convert/onnx/writer/onnx_writer.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "planner/network/named_tensors.hpp"
#include "planner/network/tile_bound.hpp"
#include "planner/network/unfused.hpp"
#include "primitives/core/index.hpp"
#include "primitives/core/write_atomically.hpp"
#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/reader/onnx_reader.hpp"
#include "proto/convert/onnx/writer/onnx_message.hpp"
#include "proto/convert/onnx/writer/onnx_written_operations.hpp"
#include "proto/convert/onnx/writer/onnx_written_transposed.hpp"

namespace znni {
namespace {

// Writes a network whose nodes have nothing fused. What padding made of the file's network is taken back: of a value,
// voxel v of a whole volume's tensor stands at v + Node::beyond, so that the difference between two values says how
// wide the pads of the node between them are.
class NetworkWriter {
 public:
  explicit NetworkWriter(const LoadedNetwork& plain)
      : plain_(plain),
        network_(plain.network),
        weights_(plain.weights),
        channels_(channels_of(plain.network)),
        message_(plain.network.name, plain.network.spatial_rank, opset_of(plain.network)) {}

  Result<onnx::ModelProto> run() {
    for (const NamedTensor& output : outputs()) static_cast<void>(message_.free_name(output.name));
    add_inputs();
    for (const std::string& tensor : tensors_) is_input_.push_back(!tensor.empty());
    find_sources();
    name_output_values();
    const std::size_t end = network_.nodes.size() - (network_.outputs.empty() ? 0 : 1);
    for (std::size_t i = 0; i < end; ++i) {
      if (Result<void> written = write_node(i); !written) return written.error().within("node " + node(i).name);
    }
    if (Result<void> added = add_outputs(); !added) return added.error();
    return message_.take();
  }

 private:
  [[nodiscard]] const Node& node(std::size_t number) const { return network_.nodes[number]; }
  [[nodiscard]] std::vector<NamedTensor> outputs() const { return named_outputs(network_); }
  [[nodiscard]] const Border& beyond(int value) const {
    return value == 0 ? network_.frame : network_.nodes[index(value - 1)].beyond;
  }

  // Several inputs are the channels of value 0.
  void add_inputs() {
    const Vec3 extent = is_tile_bound(network_) ? network_.window : Vec3{};
    std::vector<std::string> names;
    for (const NamedTensor& input : named_inputs(network_)) {
      names.push_back(message_.free_name(input.name));
      message_.describe_input(names.back(), input.channels, extent);
    }
    tensors_.assign(network_.nodes.size() + 1, "");
    tensors_.front() = names.front();
    if (names.size() < 2) return;
    name_copies(names);
    tensors_.front() = message_.free_name("inputs");
    if (is_joined_read()) {
      set_integer(message_.node("Concat", tensors_.front(), names, tensors_.front()), "axis", 1);
    }
  }

  // A node that copies the channels of one of several inputs is that input in the file.
  void name_copies(const std::vector<std::string>& names) {
    for (std::size_t i = 0; i < network_.nodes.size(); ++i) {
      std::int64_t first = 0;
      for (std::size_t input = 0; input < names.size(); ++input) {
        const std::int64_t channels = network_.inputs[input].channels;
        if (copies_channels(i, first, channels)) tensors_[i + 1] = names[input];
        first += channels;
      }
    }
  }

  // Returns whether a node writes `count` channels of the network's input from the first on, and nothing else.
  [[nodiscard]] bool copies_channels(std::size_t number, std::int64_t first, std::int64_t count) const {
    const auto* conv = std::get_if<Convolution>(&node(number).operation);
    if (conv == nullptr || node(number).inputs.front() != 0 ||
        *conv != Convolution{count, Vec3::cube(1), Vec3::cube(1), {}}) {
      return false;
    }
    std::vector<float> kernels(static_cast<std::size_t>(count * network_.f_in), 0.0F);
    for (std::int64_t i = 0; i < count; ++i) kernels[static_cast<std::size_t>(i * network_.f_in + first + i)] = 1;
    return weights_[number].bias.empty() && weights_[number].kernels == kernels;
  }

  // Returns whether a node that is no such copy reads the network's input.
  [[nodiscard]] bool is_joined_read() const {
    const std::vector<int> readers = readers_of(network_, 0);
    return std::any_of(readers.begin(), readers.end(), [&](int reader) { return tensors_[index(reader) + 1].empty(); });
  }

  // Returns what a crop takes away of the file's tensor.
  [[nodiscard]] Crop crop_of_file(std::size_t number, const Crop& crop) const {
    const Border& in = beyond(node(number).inputs.front());
    const Border& out = node(number).beyond;
    return {crop.begin - in.begin + out.begin, crop.end - in.end + out.end};
  }

  // Returns the pads of a node that reads windows at a stride. Behind the last window a file may have up to a stride
  // less 1 of voxels that are not read. If some were padding, the value's outside says so.
  [[nodiscard]] Border pads_of_file(std::size_t number, Vec3 stride) const {
    const int input = node(number).inputs.front();
    const Border& in = beyond(input);
    const Border& out = node(number).beyond;
    Border pads{in.begin - stride * out.begin, in.end - stride * out.end};
    const Vec3 outside = input == 0 ? Vec3{} : node(index(input - 1)).outside.end;
    for (int axis = 0; axis < 3; ++axis) {
      const std::int64_t least = std::min<std::int64_t>(outside[axis], 1);
      const std::int64_t most = pads.end[axis] + stride[axis] - 1;
      pads.end[axis] = std::min(std::max(pads.end[axis], least), most);
    }
    return pads;
  }

  // Returns whether a node is none of the file: a crop that padding made, what repeats the voxels of an output, or the
  // shuffle of a transposed convolution.
  [[nodiscard]] bool is_added(std::size_t number) const {
    const int input = node(number).inputs.front();
    if (input > 0 && shuffle_behind(index(input - 1)) == static_cast<int>(number)) return true;
    const auto* crop = std::get_if<Crop>(&node(number).operation);
    if (crop != nullptr) return crop_of_file(number, *crop) == Crop{};
    return repeats_.contains(static_cast<int>(number) + 1);
  }

  // Finds the value of the file that each value is, so that nodes that are not of the file are passed over.
  void find_sources() {
    find_repeats();
    sources_ = {0};
    for (std::size_t i = 0; i < network_.nodes.size(); ++i) {
      sources_.push_back(is_added(i) ? sources_[index(node(i).inputs.front())] : static_cast<int>(i) + 1);
    }
  }

  // Notes the upsamplings that end outputs with a stride. A crop may follow.
  void find_repeats() {
    if (network_.output_stride != Vec3::cube(1)) note_repeat(static_cast<int>(network_.nodes.size()));
    for (std::size_t i = 0; i < network_.outputs.size(); ++i) {
      const std::vector<int>& joined = network_.nodes.back().inputs;
      if (network_.outputs[i].stride != Vec3::cube(1) && i < joined.size()) note_repeat(joined[i]);
    }
  }

  void note_repeat(int value) {
    while (value > 0 && std::holds_alternative<Crop>(node(index(value - 1)).operation)) {
      value = node(index(value - 1)).inputs.front();
    }
    if (value > 0 && std::holds_alternative<Upsample>(node(index(value - 1)).operation)) repeats_.insert(value);
  }

  // The values that are outputs; each of several is an input of the Concat that joins them.
  [[nodiscard]] std::vector<int> output_values() const {
    if (network_.outputs.empty()) return {sources_.back()};
    std::vector<int> values;
    for (const int input : network_.nodes.back().inputs) values.push_back(sources_[index(input)]);
    return values;
  }

  // A value takes the name of the first output that it is.
  void name_output_values() {
    const std::vector<int> values = output_values();
    const std::vector<NamedTensor> named = outputs();
    for (std::size_t i = 0; i < std::min(values.size(), named.size()); ++i) {
      std::string& tensor = tensors_[index(values[i])];
      if (tensor.empty()) tensor = named[i].name;
    }
  }

  // Returns what the node reads where it pads.
  [[nodiscard]] OutsideKind pads_with(std::size_t number) const {
    const int input = node(number).inputs.front();
    return input == 0 ? OutsideKind::zero : node(index(input - 1)).outside_kind;
  }

  Result<void> write_node(std::size_t number) {
    const int value = static_cast<int>(number) + 1;
    if (sources_[index(value)] != value || is_input_[index(value)]) return {};
    std::string& output = tensors_[index(value)];
    if (output.empty()) output = message_.free_name(node(number).name);
    WrittenNode written{node(number), weights_[number],          {},    pads_with(number), {},
                        {},           channels_of_first(number), output};
    for (const int input : node(number).inputs) written.inputs.push_back(tensors_[index(sources_[index(input)])]);
    if (const auto* crop = std::get_if<Crop>(&node(number).operation)) written.crop = crop_of_file(number, *crop);
    const auto* conv = std::get_if<Convolution>(&node(number).operation);
    const auto* pool = std::get_if<Pooling>(&node(number).operation);
    if (conv != nullptr) written.pads = pads_of_file(number, conv->stride);
    if (pool != nullptr) written.pads = pads_of_file(number, pool->stride);
    const int shuffle = shuffle_behind(number);
    if (shuffle < 0) return write_operation(written, message_);
    write_transposed(written, std::get<Upsample>(node(index(shuffle)).operation).factor, message_);
    return {};
  }

  // Returns the shuffle that makes a transposed convolution of the node; -1 if there is none.
  [[nodiscard]] int shuffle_behind(std::size_t number) const {
    const auto* conv = std::get_if<Convolution>(&node(number).operation);
    return conv == nullptr ? -1 : shuffle_of(plain_, static_cast<int>(number), pads_of_file(number, conv->stride));
  }

  [[nodiscard]] std::int64_t channels_of_first(std::size_t number) const {
    return channels_[index(node(number).inputs.front())];
  }

  Result<void> add_outputs() {
    const std::vector<int> values = output_values();
    const std::vector<NamedTensor> named = outputs();
    const bool joins = network_.outputs.empty() || std::holds_alternative<Concat>(network_.nodes.back().operation);
    if (!joins || values.size() != named.size()) {
      return unsupported("node " + network_.nodes.back().name + " computes its " + std::to_string(named.size()) +
                         " outputs together, which is not written; write the network as it was read");
    }
    for (std::size_t i = 0; i < named.size(); ++i) {
      const std::string& tensor = tensors_[index(values[i])];
      if (tensor != named[i].name) message_.node("Identity", named[i].name, {tensor}, named[i].name);
      message_.describe_output(named[i].name, named[i].channels);
    }
    return {};
  }

  const LoadedNetwork& plain_;
  const Network& network_;
  const NetworkWeights& weights_;
  std::vector<std::int64_t> channels_;  // per value
  OnnxMessage message_;
  std::vector<std::string> tensors_;  // per value, of those that are the file's
  std::vector<bool> is_input_;        // per value, whether it is an input of the file, or all of them
  std::vector<int> sources_;          // per value
  std::set<int> repeats_;             // values
};

// Returns whether a node passes on all that it reads: not so a crop that padding made, which has another border.
bool crops_nothing(const Network& network, int number) {
  const Node& node = network.nodes[index(number)];
  const auto* crop = std::get_if<Crop>(&node.operation);
  if (crop == nullptr || *crop != Crop{} || network.nodes.size() == 1) return false;
  return network.frame == Border{} && !is_strided(network);
}

// Makes slopes of channels that are all equal one alpha, as a reader does.
void join_equal_slopes(Node& node, NodeWeights& weights) {
  const std::vector<float>& slopes = weights.scale;
  if (!std::holds_alternative<PRelu>(node.operation) || slopes.empty()) return;
  if (std::any_of(slopes.begin(), slopes.end(), [&](float slope) { return slope != slopes.front(); })) return;
  node.operation = Activate{{ActivationKind::leaky_relu, slopes.front()}};
  weights = {};
}

// Returns the network with nothing fused, and without crops of nothing. Files have no alphas of activations that take
// none.
LoadedNetwork plain_of(const LoadedNetwork& loaded) {
  LoadedNetwork plain = unfused(loaded);
  for (int number = static_cast<int>(plain.network.nodes.size()) - 1; number >= 0; --number) {
    if (crops_nothing(plain.network, number)) remove_node(plain, number);
  }
  for (std::size_t i = 0; i < plain.weights.size(); ++i) join_equal_slopes(plain.network.nodes[i], plain.weights[i]);
  for (Node& node : plain.network.nodes) {
    auto* activate = std::get_if<Activate>(&node.operation);
    if (activate != nullptr && !takes_alpha(activate->activation.kind)) activate->activation.alpha = 0;
  }
  return plain;
}

// Returns what the first node has that differs between the networks.
std::optional<Error> difference(const Network& wanted, const Network& found) {
  if (wanted == found) return std::nullopt;
  const std::vector<std::string> before = describe(wanted);
  const std::vector<std::string> behind = describe(found);
  for (std::size_t i = 0; i < std::min(before.size(), behind.size()); ++i) {
    if (before[i] == behind[i] && wanted.nodes[i] == found.nodes[i]) continue;
    return unsupported("would read back as another network: '" + behind[i] + "' in place of '" + before[i] + "'");
  }
  return unsupported("would read back as another network, of " + std::to_string(behind.size()) + " nodes in place of " +
                     std::to_string(before.size()));
}

}  // namespace

Result<onnx::ModelProto> onnx_of(const LoadedNetwork& loaded) {
  if (Result<void> sound = check(loaded.network); !sound) return sound.error();
  if (Result<void> sound = check_weights(loaded.network, loaded.weights); !sound) return sound.error();
  const LoadedNetwork plain = plain_of(loaded);
  Result<onnx::ModelProto> model = NetworkWriter(plain).run();
  if (!model) return model;
  const Result<LoadedNetwork> again = read_onnx(*model);
  if (!again) return again.error().within("what would be written is not read");
  if (std::optional<Error> differs = difference(plain.network, again->network)) return *differs;
  return model;
}

Result<void> write_onnx_file(const LoadedNetwork& loaded, const std::string& path) {
  const Result<onnx::ModelProto> model = onnx_of(loaded);
  if (!model) return model.error().within(path);
  const auto bytes = static_cast<std::int64_t>(model->ByteSizeLong());
  if (bytes > max_model_bytes) {
    return Error{ErrorCode::unsupported, path + ": has " + std::to_string(bytes) +
                                             " bytes; an .onnx file has at most " + std::to_string(max_model_bytes) +
                                             ", and weights beside it are not written"};
  }
  return write_atomically(path, model->SerializeAsString());
}

}  // namespace znni
