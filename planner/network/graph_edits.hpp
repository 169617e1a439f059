// Questions and changes that passes over a network's graph share.
#pragma once

#include <cstddef>
#include <vector>

#include "planner/network/network.hpp"
#include "primitives/core/index.hpp"

namespace znni {

// A network with its parameters: one NodeWeights per node, or none at all (nets that are only planned).
struct LoadedNetwork {
  Network network;
  NetworkWeights weights;
};

// Returns the nodes that read `value`, once per input that does.
[[nodiscard]] std::vector<int> readers_of(const Network& network, int value);

[[nodiscard]] bool is_read_once(const Network& network, int value);

// Takes `node` away; its readers read its first input instead. What they found set (Node::outside) is then set in that
// input, too. Requires that no other node reads that input if the node's readers want -infinity there.
void remove_node(LoadedNetwork& loaded, int node);

// Removes nodes whose value is neither read nor the output.
void remove_unread(LoadedNetwork& loaded);

}  // namespace znni
