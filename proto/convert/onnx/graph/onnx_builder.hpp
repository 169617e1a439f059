// Builds a network while its ONNX nodes are read one after the other.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "planner/network/network.hpp"
#include "proto/convert/onnx/graph/onnx_attributes.hpp"
#include "proto/convert/onnx/graph/onnx_extents.hpp"
#include "proto/convert/onnx/graph/onnx_graph.hpp"
#include "proto/convert/onnx/graph/onnx_known.hpp"
#include "proto/convert/onnx/graph/onnx_tensors.hpp"
#include "proto/convert/onnx/graph/onnx_token_tensors.hpp"

namespace znni {

// Upper bound of a tensor's channels, so that one number per channel costs little. No net has more.
inline constexpr std::int64_t max_onnx_channels = std::int64_t{1} << 20;

// Stands for the channels of a value behind a refused node. No other value has that many.
inline constexpr std::int64_t unknown_channels = 0;

// A tensor that is a value with its axes in another order: its axis i is axis `axes[i]` of the value's
// [N][f][spatial...]. An axis below 0 is none of these: along it stand -axes[i] copies of all the rest. A single
// channel may be left out.
struct TurnedValue {
  int value = 0;
  std::vector<int> axes;
};

// A tensor that is one voxel along an axis of another: number `index` of `count`, along the place `axis` of its axes.
struct PlaneOfValue {
  TurnedValue of;
  int axis = 0;
  std::int64_t index = 0;
  std::int64_t count = 1;
};

// A tensor that is a value whose channels stand in groups: [N][groups][the channels of a group, and space].
struct GroupedValue {
  int value = 0;
  std::int64_t groups = 1;
};

// A tensor that is a value whose channels are split into those of `factor` voxels along each axis: [N][f / voxels]
// [factor...][spatial...], or, interleaved, [N][f / voxels] and along each axis its voxels, each in `factor` parts.
struct SplitValue {
  int value = 0;
  Vec3 factor = Vec3::cube(1);
  bool interleaved = false;
};

// A tensor that is all numbers of a value in one row: [N][all axes behind the first of these], as a file has it whose
// input has the extents that it declares. Of these the value has the extents `window`.
struct FlatTensor {
  Vec3 window = Vec3::cube(1);
  std::vector<int> axes;  // as in TurnedValue, without copies
  // What each number in the row is multiplied by, and what is added to it, in the file's order; none: they are the
  // value's own. A linear layer takes them in.
  std::vector<float> scale = {};
  std::vector<float> shift = {};
};

// What some node does on a way from the input to a value.
struct WayOfValue {
  bool pads = false;
  bool upsamples = false;
  bool reads_all = false;  // reads_all_voxels()
};

class OnnxBuilder {
 public:
  // `graph` must outlive the builder. `rank` is the number of spatial axes, 1 to 3. `max_parameters` bounds the
  // numbers that all nodes hold together, because a hostile file could let a thousand nodes share one large tensor.
  // `read` returns the numbers of the graph's tensors.
  using ReadFloats = std::function<Result<std::vector<float>>(const onnx::TensorProto&)>;
  OnnxBuilder(const OnnxGraph& graph, int rank, std::int64_t f_in, std::int64_t max_parameters,
              ReadFloats read = znni::floats_of);

  // Takes the input's extents as given, in place of those that the file declares.
  void assume(const VolumeExtents& volumes) { extents_.front() = volumes; }
  // Keeps no parameters, only the network: for a first look at its extents.
  void leave_weights_out() { keeps_weights_ = false; }

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] std::int64_t opset() const { return graph_.opset; }

  // Returns whether the node has input `index`.
  [[nodiscard]] static bool has_input(const onnx::NodeProto& node, int index);
  // Returns input `index` if it is a constant, or computed from constants; else nullptr.
  [[nodiscard]] const onnx::TensorProto* constant(const onnx::NodeProto& node, int index) const;
  // Returns the elements of a constant as float32. Fails if one is NaN or infinite; the error names the tensor and the
  // first such element.
  [[nodiscard]] Result<std::vector<float>> floats_of(const onnx::TensorProto& constant) const;

  // Returns the value at input `index`. Fails if it is a constant or a second output of a node.
  [[nodiscard]] Result<int> value(const onnx::NodeProto& node, int index) const;
  // Returns the value's channels; unknown_channels behind a refused node.
  [[nodiscard]] std::int64_t channels(int value) const { return channels_[static_cast<std::size_t>(value)]; }
  // Returns the extents of a value. Without assume(): if the net reads the input that the file declares; not known
  // where the file leaves an axis open.
  [[nodiscard]] const VolumeExtents& extents(int value) const { return extents_[static_cast<std::size_t>(value)]; }
  [[nodiscard]] WayOfValue way(int value) const { return ways_[static_cast<std::size_t>(value)]; }
  // Returns whether the values are the several inputs of the graph, in its order: side by side they are value 0.
  [[nodiscard]] bool are_all_inputs(const std::vector<int>& values) const;
  // Returns the inputs of the batch: what the file declares, or 1.
  [[nodiscard]] std::int64_t batch() const { return batch_; }

  // Returns the tensors that are known while the file is read, besides its constants.
  [[nodiscard]] KnownTensors& known() { return known_; }
  [[nodiscard]] const KnownTensors& known() const { return known_; }
  // Returns whether the tensor is a constant or was computed from constants and extents.
  [[nodiscard]] bool is_known(const std::string& tensor) const;
  // Returns the numbers of input `index`; nullopt if they are not known, or too many.
  [[nodiscard]] std::optional<KnownTensor> known_at(const onnx::NodeProto& node, int index) const;

  // Returns whether the value lies behind a refused node whose output could have any form: nothing that depends on
  // extents or on the order of axes is an error of its readers.
  [[nodiscard]] bool is_guessed(int value) const { return guessed_[static_cast<std::size_t>(value)]; }

  // Returns the `count` numbers of the constant at input `index`; any number of them for unknown_channels.
  [[nodiscard]] Result<std::vector<float>> vector(const onnx::NodeProto& node, int index, std::int64_t count) const;

  // Appends the node to the network. `channels` is the number of channels that it writes, `pads` the padding around its
  // first input. If its name is taken, a number is appended, because names of ONNX nodes need not be unique.
  void append(const onnx::NodeProto& node, Operation operation, std::vector<int> inputs, std::int64_t channels,
              NodeWeights weights = {}, const Border& pads = {});
  // Appends a part of the node, one of several that compute it together, and returns its value.
  int append_part(const onnx::NodeProto& node, Operation operation, int input, std::int64_t channels,
                  NodeWeights weights = {}, const Border& pads = {});
  int append_part(const onnx::NodeProto& node, Operation operation, std::vector<int> inputs, std::int64_t channels);
  // Returns the padding around the first input of each node.
  [[nodiscard]] const std::vector<Border>& pads() const { return pads_; }
  [[nodiscard]] bool is_padded() const;
  // Makes the node's output a name of `value` itself.
  void alias(const onnx::NodeProto& node, int value);
  // Makes the tensor, another output of a node, a name of `value`; "" names nothing.
  void name(const std::string& tensor, int value);
  // Makes the outputs of a refused node values, so that the nodes behind it can be checked. They have the form of the
  // tensor `like`, or an unknown one if that is no value. From then on no weights are kept.
  void refuse(const onnx::NodeProto& node, const std::string& like);
  // Returns whether a node was refused before any number depended on the volume, so that none can be read.
  [[nodiscard]] bool is_refused_for_all() const { return is_refused_for_all_; }
  // Makes the outputs of a node values of an unknown form, because it depends on what refused nodes would write. That
  // is no refusal of its own.
  void guess(const onnx::NodeProto& node) { refuse(node, ""); }
  // Does the same with a node that computes numbers of the extents of guessed values.
  void guess_numbers(const onnx::NodeProto& node);
  // Returns whether the tensor is such a number, and whether the node reads any.
  [[nodiscard]] bool is_guessed_number(const std::string& tensor) const { return guessed_numbers_.contains(tensor); }
  [[nodiscard]] bool reads_guess(const onnx::NodeProto& node) const;
  // Does guess() with a node that reads any. Returns whether it is one.
  [[nodiscard]] bool guess_reader(const onnx::NodeProto& node);
  // Gives what `from` stands for the name `to`, too: a value, a constant or a known tensor. Fails if `from` stands for
  // nothing, or `to` for something.
  [[nodiscard]] Result<void> pass_on(const std::string& from, const std::string& to);
  // Returns whether a tensor stands for anything yet.
  [[nodiscard]] bool is_written(const std::string& tensor) const;
  // Returns whether the file has a tensor of that name.
  [[nodiscard]] bool is_of_file(const std::string& tensor) const { return graph_.names.contains(tensor); }
  // Makes the node's output a value with its axes in another order. Only the operators of
  // proto/convert/onnx/operators/onnx_turned.hpp, those over channels and Split read such a value; value() refuses it.
  void turn(const onnx::NodeProto& node, TurnedValue turned);
  // Returns the transposed value that the tensor is; nullptr for any other tensor.
  [[nodiscard]] const TurnedValue* turned(const std::string& tensor) const;
  // Makes the tensor, an output of a node, a plane of a value. Only Concat reads planes; value() refuses them.
  void name_plane(const std::string& tensor, PlaneOfValue plane);
  // Returns the plane that the tensor is; nullptr for any other tensor.
  [[nodiscard]] const PlaneOfValue* plane(const std::string& tensor) const;
  // Makes a turned value that is an output of the graph the value itself.
  void settle(const std::string& tensor);
  // Makes the node's output a value in groups. Only InstanceNormalization and Reshape read such a value; value()
  // refuses it.
  void group(const onnx::NodeProto& node, GroupedValue grouped);
  // Returns the value in groups that the tensor is; nullptr for any other tensor.
  [[nodiscard]] const GroupedValue* grouped(const std::string& tensor) const;
  // Makes the node's output a value with split channels. Only Transpose and Reshape read such a value; value() refuses
  // it.
  void split(const onnx::NodeProto& node, const SplitValue& split);
  // Returns the value with split channels that the tensor is; nullptr for any other tensor.
  [[nodiscard]] const SplitValue* split(const std::string& tensor) const;
  // Returns the tensors of transformers. Only the operators of proto/convert/onnx/tokens read them; value() refuses
  // them.
  [[nodiscard]] OnnxTokenTensors& tokens() { return tokens_; }
  [[nodiscard]] const OnnxTokenTensors& tokens() const { return tokens_; }
  // Notes that the node's output is pooled of all voxels: the file's tensor has `axes` axes, with one voxel per
  // channel, and its value has that voxel everywhere (proto/convert/onnx/operators/onnx_pooled.hpp).
  void note_pooled(const onnx::NodeProto& node, int axes) { pooled_.insert_or_assign(node.output(0), axes); }
  // Returns the axes of such a tensor; 0 for any other.
  [[nodiscard]] int pooled_axes(const std::string& tensor) const;
  // Returns the spatial axes of a value's tensor in the file.
  [[nodiscard]] int spatial_axes(const std::string& tensor) const {
    return pooled_axes(tensor) > 0 ? pooled_axes(tensor) - 2 : rank_;
  }
  // Returns whether such a tensor is not a mean or maximum of all voxels, but has one voxel of the patch that the file
  // declares. It then has one for each position of a larger volume (proto/convert/onnx/operators/onnx_flatten.hpp).
  [[nodiscard]] bool is_of_patch(const std::string& tensor) const {
    return pooled_axes(tensor) > 0 && value_of(tensor) >= 0 && !way(value_of(tensor)).reads_all;
  }
  // Notes that the node's output is its value, flattened. convert_node() looks for such tensors first.
  void note_flat(const onnx::NodeProto& node, FlatTensor flat) {
    parameters_ = add(parameters_, static_cast<std::int64_t>(flat.scale.size() + flat.shift.size()));
    flat_.insert_or_assign(node.output(0), std::move(flat));
  }
  // Returns the flattened tensor of that name; nullptr for any other.
  [[nodiscard]] const FlatTensor* flat(const std::string& tensor) const;
  // Notes that the tensor holds whole numbers from 0 up to below `count`
  // (proto/convert/onnx/operators/onnx_arg_max.hpp).
  void note_whole(const std::string& tensor, std::int64_t count) { whole_.insert_or_assign(tensor, count); }
  // Returns the count of such a tensor; 0 for any other.
  [[nodiscard]] std::int64_t whole(const std::string& tensor) const {
    const auto found = whole_.find(tensor);
    return found == whole_.end() ? 0 : found->second;
  }
  // Notes that the last value is a Softmax or its logarithm, which is right only if its input has one voxel.
  // check_flattened() checks that at the end.
  void note_flattened(const onnx::NodeProto& node);
  struct Flattened {
    const onnx::NodeProto* node = nullptr;
    int value = 0;
  };
  [[nodiscard]] const std::vector<Flattened>& flattened() const { return flattened_; }

  // Takes away the nodes that `tensor` does not need. Such are those that only a branch reads that is not taken, or of
  // which only the extents are asked. Does nothing if the tensor is no value.
  void drop_unread(const std::string& tensor);

  // Counts, per axis, nodes whose inputs differ in extent, but for the one that joins several outputs. It also counts
  // nodes that leave voxels at the end unread.
  struct Misfits {
    Vec3 unmet;
    Vec3 unread;
  };
  [[nodiscard]] const Misfits& misfits() const { return misfits_; }

  // Returns how many parameters the net may have, and may still have.
  [[nodiscard]] std::int64_t max_parameters() const { return max_parameters_; }
  [[nodiscard]] std::int64_t room() const { return max_parameters_ - parameters_; }
  // Fails if the last value's channels or the parameters so far exceed their bounds.
  [[nodiscard]] Result<void> check_limits() const;

  // Returns the value that a tensor stands for, or -1.
  [[nodiscard]] int value_of(const std::string& tensor) const;
  [[nodiscard]] Network& network() { return network_; }
  [[nodiscard]] const Network& network() const { return network_; }
  [[nodiscard]] NetworkWeights& weights() { return weights_; }

 private:
  int add_node(const onnx::NodeProto& node, Operation operation, std::vector<int> inputs, std::int64_t channels,
               NodeWeights weights, const Border& pads);
  [[nodiscard]] std::string free_name(const std::string& name);
  void add_extents(const Operation& operation, const std::vector<int>& inputs, const Border& pads, bool joins_outputs);
  void add_way(const Operation& operation, const std::vector<int>& inputs, const Border& pads);

  const OnnxGraph& graph_;
  int rank_;
  std::int64_t max_parameters_;
  ReadFloats read_;
  std::int64_t parameters_ = 0;
  Network network_;
  NetworkWeights weights_;
  std::vector<Border> pads_;
  std::map<std::string, int> names_;  // taken name -> number of requests for it
  std::map<std::string, int> values_;
  std::map<std::string, TurnedValue> turned_;
  std::map<std::string, PlaneOfValue> planes_;
  OnnxTokenTensors tokens_;
  std::map<std::string, GroupedValue> grouped_;
  std::map<std::string, SplitValue> split_;
  std::map<std::string, int> pooled_;  // axes
  std::map<std::string, FlatTensor> flat_;
  std::map<std::string, std::int64_t> whole_;  // count
  std::vector<Flattened> flattened_;
  std::vector<std::int64_t> channels_;  // per value
  std::vector<VolumeExtents> extents_;  // per value
  std::vector<WayOfValue> ways_;        // per value
  std::int64_t batch_ = 1;
  bool keeps_weights_ = true;
  std::vector<bool> guessed_;  // per value
  std::set<std::string> guessed_numbers_;
  bool is_refused_ = false;
  bool is_refused_for_all_ = false;
  KnownTensors known_;
  Misfits misfits_;
};

}  // namespace znni
