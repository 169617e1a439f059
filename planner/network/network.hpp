// A network as the planner sees it: a DAG of nodes in topological order, without weights. A chain is the
// simple case; a net of fewer axes is a 3D one whose leading extents are 1. Every node writes one tensor ("value").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "primitives/core/problem.hpp"

namespace znni {

// A convolution of the first input. A second one, the residual, is added before the activation (by a graph pass).
struct Convolution {
  std::int64_t f_out = 1;
  Vec3 k = Vec3::cube(1);
  Vec3 dilation = Vec3::cube(1);
  Activation activation;  // fused by a graph pass
  Vec3 stride = Vec3::cube(1);
  std::int64_t groups = 1;  // divides the channels of input and output
  bool local = false;       // its input may be infinite (ConvProblem); said by a graph pass
  bool operator==(const Convolution&) const = default;
};
// Dense poolings are computed at every offset of their stride, in one of several modes, so that the network's output is
// dense. `strided` ones keep the first offset: the network has voxels of several sizes, and upsampling makes its output
// dense again (planner/network/padding.hpp).
struct Pooling {
  PoolKind kind = PoolKind::max;
  Vec3 window = Vec3::cube(2);
  Vec3 stride = Vec3::cube(2);
  bool strided = false;
  Vec3 dilation = Vec3::cube(1);
  bool operator==(const Pooling&) const = default;
};
// Makes `factor` voxels of each along an axis (UpsampleProblem). A transposed convolution is a convolution to f_out *
// voxels(factor) channels and a shuffle. If it interpolates, it is valid, too. It writes nothing for the first and the
// last voxel, unless it pads with the voxels at the border (planner/network/padding.hpp). One that aligns corners binds
// the network to its window, as Norm does.
struct Upsample {
  Vec3 factor = Vec3::cube(2);
  UpsampleKind kind = UpsampleKind::nearest;
  bool operator==(const Upsample&) const = default;
};
struct Activate {
  Activation activation;
  bool operator==(const Activate&) const = default;
};
// Makes each voxel of the channels that it has (AcrossChannelsProblem). A layer normalisation's scale and shift are a
// ScaleShift behind it.
struct AcrossChannels {
  AcrossKind kind = AcrossKind::softmax;
  float epsilon = 1e-5F;  // of a norm and of unit length
  bool operator==(const AcrossChannels&) const = default;
};
struct ScaleShift {  // batch normalisation that no convolution could take in
  bool operator==(const ScaleShift&) const = default;
};
// Multiplies what is below 0 by the slope of its channel, which is the node's scale (PReluProblem). One slope for all
// channels is an Activate.
struct PRelu {
  bool operator==(const PRelu&) const = default;
};
// Normalises groups of channels over all voxels that a whole input makes of them (NormProblem). Each voxel of its
// output depends on all others, so a network that has one is bound to its window (is_tile_bound()).
struct Norm {
  std::int64_t groups = 1;
  float epsilon = 1e-5F;
  Activation activation = {};  // fused by a graph pass
  NormKind kind = NormKind::deviation;
  bool operator==(const Norm&) const = default;
};
// Writes the largest or the mean of all voxels that a whole input makes of a channel, at every voxel of it
// (GlobalPoolProblem). So its readers have the extents of all else. Binds the network to its window, too.
struct GlobalPool {
  PoolKind kind = PoolKind::average;
  bool operator==(const GlobalPool&) const = default;
};
// Makes each voxel of all voxels of the input, weighted by what its query has in common with their keys
// (AttentionProblem). Reads queries, keys and values. Binds the network to its window, too.
struct Attention {
  std::int64_t heads = 1;
  float scale = 1;
  bool operator==(const Attention&) const = default;
};
// Adds a number of its own to each voxel of each channel, which are the node's shift (AddVolumeProblem). So the input
// has this extent alone, and the network is bound to its window.
struct AddVolume {
  Vec3 extent = Vec3::cube(1);
  bool operator==(const AddVolume&) const = default;
};
struct Add {
  Activation activation;  // fused by a graph pass
  bool operator==(const Add&) const = default;
};
struct Multiply {  // of two inputs; one of one channel, the second, multiplies every channel of the first
  bool operator==(const Multiply&) const = default;
};
struct Divide {  // the first of two inputs by the second; one of one channel, the second, divides every channel of the
                 // first
  bool operator==(const Divide&) const = default;
};
struct Concat {  // channels of the inputs, one input after the other
  bool operator==(const Concat&) const = default;
};
// Takes away the first `begin` and the last `end` voxels of each axis, so that branches of other extents can meet. In
// the dense sliding window it is a convolution of k = begin + end + 1 whose one tap, at `begin`, is 1. It reaches as
// far, and shifts every fragment by as much; in a stream it reads `end` planes of earlier steps.
struct Crop {
  Vec3 begin;
  Vec3 end;
  bool reflects = false;  // what it pads; none of a valid network does (planner/network/padding.hpp)
  bool operator==(const Crop&) const = default;
};
inline constexpr std::size_t max_stages = 128;  // of a stack
// Poolings of stride 1, scales and shifts and activations, one after the other (StackProblem); made by a graph pass.
// Its poolings make their padding themselves: what its input has beyond the volume is not read. Scales of its stages,
// of each channel, are one after the other.
struct Stack {
  std::vector<StackStage> stages;
  bool operator==(const Stack&) const = default;
};
using Operation = std::variant<Convolution, Pooling, Activate, AcrossChannels, ScaleShift, Add, Concat, Crop, Upsample,
                               Norm, Multiply, GlobalPool, PRelu, Attention, AddVolume, Divide, Stack>;

// Voxels at both ends of each axis.
struct Border {
  Vec3 begin;
  Vec3 end;
  bool operator==(const Border&) const = default;
};

// The padding that readers want: zeros, -infinity (max poolings), or the nearest voxel of the volume (linear
// upsamplings, crops that pad). For pads that reflect it is the voxel as far inside the border voxel as the padding
// lies outside it.
enum class OutsideKind { zero, lowest, edge, reflect };

// Values are numbered: 0 is the network's input, i + 1 is what node i writes.
struct Node {
  std::string name;  // of the file it came from
  Operation operation;
  std::vector<int> inputs;  // values; each below this node's own
  // Voxels at the ends of what it writes of a whole volume that its readers take for padding. They are set to what that
  // kind says before they are read (planner/network/padding.hpp).
  Border outside = {};
  OutsideKind outside_kind = OutsideKind::zero;
  // Voxels beyond the volume that it writes at the ends of each axis where the input has its frame; below 0 where it
  // leaves out some of the volume's own.
  Border beyond = {};
  bool operator==(const Node&) const = default;
};

// One of several inputs or outputs of a network.
struct NamedTensor {
  std::string name;
  std::int64_t channels = 0;
  // Equal voxels along each axis for one that the file's network computes, if this is an output and outputs differ in
  // that. They are repeated Network::output_stride times more.
  Vec3 stride = Vec3::cube(1);
  bool operator==(const NamedTensor&) const = default;
};

// The last node's value is the output; every node has a path to it.
struct Network {
  std::string name;
  int spatial_rank = 3;  // 1 to 3; 2: [N,C,Y,X] on the wire, z extents of 1 inside
  std::int64_t f_in = 1;
  std::string input_name = "input";
  std::string output_name = "output";
  std::vector<Node> nodes;
  // Zeros around the volume, which the input has as well; none if no node pads (planner/network/padding.hpp).
  Border frame = {};
  // Extent, without frame, of what a network computes at once that is bound to its window (is_tile_bound()); zeros if
  // the network is not, or its file leaves that open.
  Vec3 window = {};
  // Several outputs, whose channels, one after the other, are those of the last node's value
  // (planner/network/named_tensors.hpp); empty if there is one.
  std::vector<NamedTensor> outputs = {};
  // Likewise several inputs, whose channels are those of the network's input, `f_in` in all; empty if there is one.
  std::vector<NamedTensor> inputs = {};
  // Equal voxels that the output, or each of several, has along each axis for one that the file's network computes
  // (planner/network/padding.hpp).
  Vec3 output_stride = Vec3::cube(1);
  // Extent, without frame, of the smallest volume that has all voxels that pads reflect.
  Vec3 min_volume = Vec3::cube(1);
  bool operator==(const Network&) const = default;
};

// Parameters of one node; empty vectors where it has none. Layouts as in LayerWeights.
struct NodeWeights {
  std::vector<float> kernels;
  std::vector<float> bias;
  std::vector<float> scale;
  std::vector<float> shift;

  [[nodiscard]] LayerWeights view() const { return {kernels, bias, scale, shift}; }
};
using NetworkWeights = std::vector<NodeWeights>;  // one per node

// Receptive field and stride of a value with respect to the network's input: n voxels of it need
// fov + stride (n - 1) of the input. Behind an upsampling the field is that of this formula, and may be below 1.
struct Reach {
  Vec3 fov = Vec3::cube(1);
  Vec3 stride = Vec3::cube(1);
  bool operator==(const Reach&) const = default;
};

// Checks a network; the error names the node.
// - Names are unique, without control characters, and not the input's. Inputs stand before their readers, and every
//   node has a path to the output.
// - Branches meet with equal reach, and with equal channels if they are added.
// - Windows are 1, and there are no borders, along the axes that the rank lacks.
// - With a frame or a stride of the network's own, the stride is 1 and the output at most as large as the volume.
// - Upsampling is at most as fine as the input, extents fit all strides, and `min_volume` has all that pads reflect.
// - Sizes are far from overflow: field of view up to 2^20, total stride 2^12, channels 2^24, parameters 2^58.
[[nodiscard]] Result<void> check(const Network& network);

// Checks the inputs, windows and borders of each node by itself. The error names the node.
[[nodiscard]] Result<void> check_nodes(const Network& network);

// Returns the reach of each value; requires check(). The last one is the network's: its fov is the smallest legal input
// extent.
[[nodiscard]] std::vector<Reach> reaches(const Network& network);
// Returns the extent of the input, frame included, for a volume of extent `volume`.
[[nodiscard]] Vec3 framed(const Network& network, Vec3 volume);
// Returns the voxels per axis by which the output is smaller than the volume, plus 1: the field of view if no node
// pads. At least 1; requires check().
[[nodiscard]] Vec3 lost_extent(const Network& network);
// Returns the voxels of the input after which the network's strides fall on the same voxels again. Starts of patches,
// new planes of a step and the extents of volumes are multiples of it. 1 if the network has no strides but those of
// dense poolings. Requires check().
[[nodiscard]] Vec3 period(const Network& network);
// Returns the smallest extent of the input, frame included, that leaves no voxel of a value unread and has those that
// pads reflect; all such extents are periods apart. The field of view if no node has a stride of its own, and none
// reflects. Requires check().
[[nodiscard]] Vec3 min_extent(const Network& network);
// Returns whether a stride is the network's own, so that it has voxels of several sizes.
[[nodiscard]] bool is_strided(const Network& network);
// Returns 1 along the axes along which some node pads, else 0. Where padding follows a crop, there is none of it in the
// frame.
[[nodiscard]] Vec3 padded_axes(const Network& network);
// Returns true if each voxel that the operation writes depends on all of its input. Such are Norm, GlobalPool,
// Attention, and where the input's extent says where voxels lie: AddVolume, and an Upsample that aligns corners.
[[nodiscard]] bool reads_all_voxels(const Operation& operation);
// Returns true if a node does so. What the network computes of a window then depends on all of it. No part of a larger
// volume's output follows from a part of that volume.
[[nodiscard]] bool is_tile_bound(const Network& network);
// Returns true if the network is valid and dense, without padding and without strides of its own, and not bound to its
// window. Others run on the CPU alone, a whole volume at a time.
[[nodiscard]] bool is_dense(const Network& network);
// Fails if the branches of a volume of extent `volume`, without its frame, would not meet, or if it has fewer voxels
// than pads reflect; the error says which extents are right. Requires check().
[[nodiscard]] Result<void> check_volume(const Network& network, Vec3 volume);
// Returns the channels of each value; requires check().
[[nodiscard]] std::vector<std::int64_t> channels_of(const Network& network);
// Returns for each value the number of the last node that reads it; nodes.size() for the output.
[[nodiscard]] std::vector<int> last_readers(const Network& network);
// Returns the nodes that are dense poolings, in order: the planner chooses a PoolMode for each.
[[nodiscard]] std::vector<int> pooling_nodes(const Network& network);
// Returns the node of that name, else the one of that number; nothing if there is none.
[[nodiscard]] std::optional<std::size_t> find_node(const Network& network, const std::string& text);
// Returns the bytes of all parameters of the network, in float32.
[[nodiscard]] std::int64_t weight_bytes(const Network& network);
// Checks the sizes of the weights. The error names the node and both numbers.
[[nodiscard]] Result<void> check_weights(const Network& network, const NetworkWeights& weights);
// Returns seeded He-normal weights, the same on every platform; biases and shifts of deviation 0.1, scales around 1:
// for planning, benchmarks and tests of nets that carry none.
[[nodiscard]] NetworkWeights random_weights(const Network& network, std::uint64_t seed);

// Returns one line per node, "conv1: conv 1 -> 80, k 4x4x4, relu <- input": a plan's key and the reader's table.
[[nodiscard]] std::vector<std::string> describe(const Network& network);

}  // namespace znni
