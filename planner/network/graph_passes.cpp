#include "planner/network/graph_passes.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "planner/network/graph_branches.hpp"
#include "planner/network/graph_edits.hpp"
#include "planner/network/graph_sums.hpp"
#include "planner/network/max_filters.hpp"
#include "planner/network/operation_traits.hpp"
#include "planner/network/quotients.hpp"
#include "planner/network/stacks.hpp"

namespace znni {
namespace {

// Returns the node that `reader` (of one input) reads; nullptr if another node reads it, too, or if it is the network's
// input.
Node* exclusive_producer(Network& network, int reader) {
  const int value = network.nodes[index(reader)].inputs.front();
  if (value == 0 || !is_read_once(network, value)) return nullptr;
  return &network.nodes[index(value - 1)];
}

// Puts node `from` before node `to`, which is an earlier one. Nothing it reads stands behind that.
void move_node(LoadedNetwork& loaded, int from, int to) {
  std::vector<Node>& nodes = loaded.network.nodes;
  for (Node& node : nodes) {
    for (int& input : node.inputs) {
      const int writer = input - 1;
      if (writer == from) {
        input = to + 1;
      } else if (writer >= to && writer < from) {
        ++input;
      }
    }
  }
  std::rotate(nodes.begin() + to, nodes.begin() + from, nodes.begin() + from + 1);
  NetworkWeights& weights = loaded.weights;
  if (!weights.empty()) std::rotate(weights.begin() + to, weights.begin() + from, weights.begin() + from + 1);
}

bool does_nothing(const Operation& operation) {
  const auto* activate = std::get_if<Activate>(&operation);
  if (activate != nullptr) return activate->activation.kind == ActivationKind::none;
  const auto* crop = std::get_if<Crop>(&operation);
  return crop != nullptr && *crop == Crop{};
}

bool drop_identity(LoadedNetwork& loaded, int node) {
  const Node& own = loaded.network.nodes[index(node)];
  // Outside a crop or a copy may lie other voxels of what it is made of.
  const bool is_copy = std::holds_alternative<Crop>(own.operation) && own.outside != Border{};
  if (!does_nothing(own.operation) || is_copy || own.outside_kind != OutsideKind::zero) return false;
  if (loaded.network.nodes.size() == 1) return false;
  remove_node(loaded, node);
  return true;
}

bool join_crops(LoadedNetwork& loaded, int node) {
  auto* crop = std::get_if<Crop>(&loaded.network.nodes[index(node)].operation);
  if (crop == nullptr) return false;
  const Node* producer = exclusive_producer(loaded.network, node);
  const auto* inner = producer == nullptr ? nullptr : std::get_if<Crop>(&producer->operation);
  if (inner == nullptr || producer->outside != Border{}) return false;
  *crop = {inner->begin + crop->begin, inner->end + crop->end};
  remove_node(loaded, loaded.network.nodes[index(node)].inputs.front() - 1);
  return true;
}

constexpr std::int64_t max_joined_factor = 1 << 12;

const Upsample* nearest_of(const Node& node) {
  const auto* up = std::get_if<Upsample>(&node.operation);
  return up != nullptr && up->kind == UpsampleKind::nearest ? up : nullptr;
}

bool join_upsamplings(LoadedNetwork& loaded, int node) {
  Node& own = loaded.network.nodes[index(node)];
  if (nearest_of(own) == nullptr) return false;
  const Node* producer = exclusive_producer(loaded.network, node);
  if (producer == nullptr || nearest_of(*producer) == nullptr || producer->outside != Border{}) return false;
  const Vec3 factor = nearest_of(own)->factor * nearest_of(*producer)->factor;
  if (!covers(Vec3::cube(max_joined_factor), factor)) return false;
  std::get<Upsample>(own.operation).factor = factor;
  remove_node(loaded, own.inputs.front() - 1);
  return true;
}

// Multiplies what a convolution of f_out channels writes, and adds to it.
void scale_outputs(NodeWeights& conv, const NodeWeights& by) {
  const std::size_t f_out = by.scale.size();
  const std::size_t per_output = conv.kernels.size() / f_out;
  conv.bias.resize(f_out, 0.0F);
  for (std::size_t j = 0; j < f_out; ++j) {
    for (std::size_t i = j * per_output; i < (j + 1) * per_output; ++i) conv.kernels[i] *= by.scale[j];
    const double bias = static_cast<double>(by.scale[j]) * static_cast<double>(conv.bias[j]);
    conv.bias[j] = static_cast<float>(bias + static_cast<double>(by.shift[j]));
  }
}

// Multiplies what a convolution reads, and adds to it.
void scale_inputs(NodeWeights& conv, const Convolution& shape, const NodeWeights& by) {
  const auto f_out = static_cast<std::size_t>(shape.f_out);
  const auto groups = static_cast<std::size_t>(shape.groups);
  const std::size_t f = by.scale.size() / groups;  // that one output reads
  const std::size_t taps = conv.kernels.size() / (f * f_out);
  conv.bias.resize(f_out, 0.0F);
  for (std::size_t j = 0; j < f_out; ++j) {
    const std::size_t first = j / (f_out / groups) * f;
    double bias = static_cast<double>(conv.bias[j]);
    for (std::size_t i = 0; i < f; ++i) {
      for (std::size_t tap = (j * f + i) * taps; tap < (j * f + i + 1) * taps; ++tap) {
        bias += static_cast<double>(conv.kernels[tap]) * static_cast<double>(by.shift[first + i]);
        conv.kernels[tap] *= by.scale[first + i];
      }
    }
    conv.bias[j] = static_cast<float>(bias);
  }
}

// Does the same with what a normalisation writes.
void scale_norm(NodeWeights& norm, const NodeWeights& by) {
  for (std::size_t i = 0; i < by.scale.size(); ++i) {
    const double shift = static_cast<double>(by.scale[i]) * static_cast<double>(norm.shift[i]);
    norm.scale[i] *= by.scale[i];
    norm.shift[i] = static_cast<float>(shift + static_cast<double>(by.shift[i]));
  }
}

using Scaling = void (*)(NodeWeights&, const NodeWeights&);

// Returns how the node takes in a scale and a shift of what it writes; nullptr if it cannot.
Scaling scaling_of(const Node& node) {
  if (const auto* conv = std::get_if<Convolution>(&node.operation)) {
    return conv->activation.kind == ActivationKind::none && node.inputs.size() == 1 ? scale_outputs : nullptr;
  }
  const auto* norm = std::get_if<Norm>(&node.operation);
  return norm != nullptr && norm->activation.kind == ActivationKind::none ? scale_norm : nullptr;
}

bool fold_into_producer(LoadedNetwork& loaded, int node) {
  if (!std::holds_alternative<ScaleShift>(loaded.network.nodes[index(node)].operation)) return false;
  const Node* producer = exclusive_producer(loaded.network, node);
  const Scaling scale = producer == nullptr ? nullptr : scaling_of(*producer);
  if (scale == nullptr) return false;
  const int producer_number = loaded.network.nodes[index(node)].inputs.front() - 1;
  if (!loaded.weights.empty()) scale(loaded.weights[index(producer_number)], loaded.weights[index(node)]);
  remove_node(loaded, node);
  return true;
}

bool fold_into_readers(LoadedNetwork& loaded, int node) {
  const std::vector<Node>& nodes = loaded.network.nodes;
  if (!std::holds_alternative<ScaleShift>(nodes[index(node)].operation)) return false;
  if (nodes[index(node)].outside != Border{}) return false;  // readers pad what it writes, not what it reads
  const std::vector<int> readers = readers_of(loaded.network, node + 1);
  const bool foldable = std::all_of(readers.begin(), readers.end(), [&](int reader) {
    const Node& conv = nodes[index(reader)];
    const bool adds_it = conv.inputs.size() > 1 && conv.inputs.back() == node + 1;
    return std::holds_alternative<Convolution>(conv.operation) && !adds_it;
  });
  if (readers.empty() || !foldable) return false;
  for (const int reader : readers) {
    if (loaded.weights.empty()) break;
    const auto& conv = std::get<Convolution>(nodes[index(reader)].operation);
    scale_inputs(loaded.weights[index(reader)], conv, loaded.weights[index(node)]);
  }
  remove_node(loaded, node);
  return true;
}

// Repeats what a node of each channel has for the voxels that a shuffle makes of them.
void repeat_per_phase(NodeWeights& weights, std::int64_t times) {
  for (std::vector<float>* const values : {&weights.scale, &weights.shift}) {
    const std::vector<float> once = *values;
    for (std::int64_t i = 1; i < times; ++i) values->insert(values->end(), once.begin(), once.end());
  }
}

// Returns whether the operation does the same before an upsampling as behind it: element by element before voxels are
// moved, and a scale and shift before voxels are interpolated, too, because the weights add up to 1.
bool goes_before(const Operation& operation, const Upsample& up) {
  const Origin origin = traits_of(operation).origin;
  const bool interpolates = up.kind == UpsampleKind::linear || up.kind == UpsampleKind::aligned;
  return origin == Origin::affine || (origin == Origin::element && !interpolates);
}

// Moves the repeated border to the value that a linear upsampling reads now, away from the one that it read before.
void move_edges(Network& network, int producer) {
  Node& moved = network.nodes[index(producer)];
  const int read = moved.inputs.front();
  if (read == 0) return;
  Node& before = network.nodes[index(read - 1)];
  if (before.outside_kind != OutsideKind::edge) return;
  moved.outside = before.outside;
  moved.outside_kind = before.outside_kind;
  if (!is_read_once(network, read)) return;  // others want the border as well
  before.outside = {};
  before.outside_kind = OutsideKind::zero;
}

// Moves a node before an upsampling, where there are fewer voxels, or a convolution that takes the node in.
bool move_before_upsample(LoadedNetwork& loaded, int node) {
  std::vector<Node>& nodes = loaded.network.nodes;
  const bool joins = nodes[index(node)].inputs.size() > 1;
  Node* producer = joins ? nullptr : exclusive_producer(loaded.network, node);
  const auto* up = producer == nullptr ? nullptr : std::get_if<Upsample>(&producer->operation);
  if (up == nullptr || !goes_before(nodes[index(node)].operation, *up)) return false;
  const bool shuffles = up->kind == UpsampleKind::shuffle;
  const std::int64_t phases = voxels(up->factor);
  std::swap(producer->operation, nodes[index(node)].operation);
  std::swap(producer->name, nodes[index(node)].name);
  // A crop that stood between them and took nothing from the window counted from another voxel: the upsampling's own
  // is the smaller and the safe one.
  nodes[index(node)].beyond = producer->beyond;
  const int source = producer->inputs.front();
  producer->beyond = source == 0 ? loaded.network.frame : nodes[index(source - 1)].beyond;
  move_edges(loaded.network, static_cast<int>(producer - nodes.data()));
  if (loaded.weights.empty()) return true;
  NodeWeights& own = loaded.weights[index(node)];
  std::swap(own, loaded.weights[index(static_cast<int>(producer - nodes.data()))]);
  if (shuffles) repeat_per_phase(loaded.weights[index(static_cast<int>(producer - nodes.data()))], phases);
  return true;
}

bool fuse_activation(LoadedNetwork& loaded, int node) {
  const auto* activate = std::get_if<Activate>(&loaded.network.nodes[index(node)].operation);
  if (activate == nullptr) return false;
  Node* producer = exclusive_producer(loaded.network, node);
  Activation* fused = producer == nullptr ? nullptr : fused_activation(producer->operation);
  if (fused == nullptr || fused->kind != ActivationKind::none) return false;
  *fused = activate->activation;
  remove_node(loaded, node);
  return true;
}

// The two inputs of a sum.
struct Addends {
  int earlier = 0;
  int later = 0;
};

std::optional<Addends> addends_of(const Node& node) {
  if (!std::holds_alternative<Add>(node.operation) || node.inputs.size() != 2) return std::nullopt;
  const auto [earlier, later] = std::minmax({node.inputs[0], node.inputs[1]});
  return Addends{earlier, later};
}

// Returns true if a convolution writes `value` that can end its sums with a residual.
bool can_add(const Network& network, int value) {
  if (value == 0 || !is_read_once(network, value)) return false;
  const Node& producer = network.nodes[index(value - 1)];
  const auto* conv = std::get_if<Convolution>(&producer.operation);
  return conv != nullptr && conv->activation.kind == ActivationKind::none && producer.inputs.size() == 1;
}

// Moves the crop of a residual before the convolution that adds it; files crop where they need it.
bool crop_first(LoadedNetwork& loaded, int node) {
  const std::vector<Node>& nodes = loaded.network.nodes;
  const std::optional<Addends> addends = addends_of(nodes[index(node)]);
  if (!addends || !can_add(loaded.network, addends->earlier)) return false;
  const Node& crop = nodes[index(addends->later - 1)];
  if (!std::holds_alternative<Crop>(crop.operation) || crop.inputs.front() >= addends->earlier) return false;
  move_node(loaded, addends->later - 1, addends->earlier - 1);
  return true;
}

bool fold_addition(LoadedNetwork& loaded, int node) {
  std::vector<Node>& nodes = loaded.network.nodes;
  const std::optional<Addends> addends = addends_of(nodes[index(node)]);
  if (!addends || !can_add(loaded.network, addends->later)) return false;
  const int later = addends->later;
  Node& producer = nodes[index(later - 1)];
  std::get<Convolution>(producer.operation).activation = std::get<Add>(nodes[index(node)].operation).activation;
  producer.inputs.push_back(addends->earlier);
  nodes[index(node)].inputs = {later};
  remove_node(loaded, node);
  return true;
}

using GraphPass = bool (*)(LoadedNetwork&, int);

// Tries the pass on every node, again and again, until it changes nothing; whether it changed anything.
bool exhaust(LoadedNetwork& loaded, GraphPass pass) {
  bool changed = false;
  int node = 0;
  while (node < static_cast<int>(loaded.network.nodes.size())) {
    const bool changed_here = pass(loaded, node);
    changed = changed || changed_here;
    node = changed_here ? 0 : node + 1;
  }
  return changed;
}

bool fold(LoadedNetwork& loaded, int node) {
  return fold_into_producer(loaded, node) || fold_into_readers(loaded, node);
}

}  // namespace

LoadedNetwork fold_scales(LoadedNetwork loaded) {
  while (exhaust(loaded, drop_identity) || exhaust(loaded, fold)) {
  }
  return loaded;
}

LoadedNetwork fold_and_fuse(LoadedNetwork loaded) {
  constexpr GraphPass passes[] = {drop_identity, join_crops,      join_upsamplings,  move_before_upsample,
                                  fold,          fuse_activation, join_addends,      join_branches,
                                  crop_first,    fold_addition,   join_convolutions, join_siblings};
  // Each takes inputs or nodes away, but for crop_first: what that moves, fold_addition then takes; and for
  // move_before_upsample, which moves each node once past each upsampling.
  for (bool changed = true; changed;) {
    changed = false;
    for (const GraphPass pass : passes) changed = exhaust(loaded, pass) || changed;
  }
  pool_for_dilations(loaded.network);
  mark_behind_quotients(loaded.network);
  stack_poolings(loaded);
  return loaded;
}

}  // namespace znni
