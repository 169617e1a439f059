#include "planner/train/trainable.hpp"

#include <algorithm>

#include "planner/geometry/closed_axes.hpp"
#include "planner/network/operation_traits.hpp"
#include "primitives/core/gradient.hpp"
#include "primitives/core/refusals.hpp"

namespace znni {
namespace {

// Returns whether a gradient is known of the node, and of the weights that it has.
bool has_gradient(const Node& node) {
  return std::visit(
      [](const auto& own) {
        using Own = std::decay_t<decltype(own)>;
        if constexpr (std::is_same_v<Own, AcrossChannels>) {
          return own.kind == AcrossKind::softmax || own.kind == AcrossKind::log_softmax;
        } else if constexpr (std::is_same_v<Own, Pooling>) {
          if (own.kind == PoolKind::max) return voxels(own.window) <= max_pooled_voxels;
          return own.kind == PoolKind::average || own.strided || own.stride == Vec3::cube(1);
        } else if constexpr (std::is_same_v<Own, Upsample>) {
          return own.kind != UpsampleKind::aligned;
        } else {
          return std::is_same_v<Own, Convolution> || std::is_same_v<Own, Activate> || std::is_same_v<Own, PRelu> ||
                 std::is_same_v<Own, ScaleShift> || std::is_same_v<Own, Add> || std::is_same_v<Own, Multiply> ||
                 std::is_same_v<Own, Divide> || std::is_same_v<Own, Concat> || std::is_same_v<Own, Crop>;
        }
      },
      node.operation);
}

// Returns the words for an operation without a gradient.
std::string words_of(const Operation& operation) {
  std::string noun(traits_of(operation).noun);
  if (std::holds_alternative<Upsample>(operation)) return noun + " with aligned corners";
  const auto* pool = std::get_if<Pooling>(&operation);
  if (pool == nullptr) return noun;
  if (pool->kind == PoolKind::max)
    return noun + " with a window of " + std::to_string(voxels(pool->window)) + " voxels";
  return noun + " of what lies inside, with a stride, where nothing pads";
}

std::string mend_of(const Operation& operation) {
  if (std::holds_alternative<Stack>(operation)) return "write its stages as nodes of their own";
  const auto* pool = std::get_if<Pooling>(&operation);
  if (pool == nullptr) return "znnid serves it; to train, replace it by layers that docs/training/README.md lists";
  if (pool->kind == PoolKind::max) {
    return "at most " + std::to_string(max_pooled_voxels) + " are right: write a pooling for each axis in its place";
  }
  return "leave out inside: all is inside there";
}

Result<void> check_node(const Node& node) {
  if (has_gradient(node)) return {};
  return refused("training has no gradient of node '" + node.name + "', " + words_of(node.operation) + "; " +
                 mend_of(node.operation));
}

}  // namespace

bool has_weights(const Node& node) {
  return std::holds_alternative<Convolution>(node.operation) || std::holds_alternative<PRelu>(node.operation) ||
         std::holds_alternative<ScaleShift>(node.operation);
}

Result<void> check_trainable(const Network& network) {
  if (Result<void> sound = check(network); !sound) return sound;
  for (const Node& node : network.nodes) {
    if (Result<void> known = check_node(node); !known) return known;
  }
  if (const Result<void> closed = check_closed(network, padded_axes(network)); !closed) {
    return refused("training pads each patch as a whole volume, and network " + network.name + " cannot be " +
                   closed.error().message);
  }
  if (std::any_of(network.nodes.begin(), network.nodes.end(), has_weights)) return {};
  return refused("network " + network.name + " has no convolution: there are no weights to train");
}

}  // namespace znni
