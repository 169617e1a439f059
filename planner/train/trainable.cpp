#include "planner/train/trainable.hpp"

#include <algorithm>

#include "planner/geometry/closed_axes.hpp"
#include "planner/network/operation_traits.hpp"
#include "primitives/core/refusals.hpp"

namespace znni {
namespace {

// Fails if no gradient is known of the node, or it has weights that no gradient is known of.
Result<void> check_node(const Node& node) {
  const bool known = std::visit(
      [](const auto& own) {
        using Own = std::decay_t<decltype(own)>;
        if constexpr (std::is_same_v<Own, AcrossChannels>) {
          return own.kind == AcrossKind::softmax || own.kind == AcrossKind::log_softmax;
        } else if constexpr (std::is_same_v<Own, Pooling>) {
          return own.kind != PoolKind::average_inside || own.strided || own.stride == Vec3::cube(1);
        } else if constexpr (std::is_same_v<Own, Upsample>) {
          return own.kind != UpsampleKind::aligned;
        } else {
          return std::is_same_v<Own, Convolution> || std::is_same_v<Own, Activate> || std::is_same_v<Own, PRelu> ||
                 std::is_same_v<Own, ScaleShift> || std::is_same_v<Own, Add> || std::is_same_v<Own, Multiply> ||
                 std::is_same_v<Own, Divide> || std::is_same_v<Own, Concat> || std::is_same_v<Own, Crop>;
        }
      },
      node.operation);
  if (known) return {};
  const std::string noun(traits_of(node.operation).noun);
  return refused("training does not take every operation yet: node '" + node.name + "' is a " + noun);
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
