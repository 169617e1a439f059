// Stacks: runs of poolings of stride 1, scales and shifts, and activations as one node, which is computed depth first
// (StackProblem), and the other way round.
#pragma once

#include "planner/network/graph_edits.hpp"

namespace znni {

// Joins nodes to stacks, each of which has a pooling and takes the name of its last node. All but the first are the
// only readers of the one before. A pooling joins if it has neither stride nor dilation, and takes the largest or the
// mean. What it reads beyond the volume has to be the padding that a stack makes. What held that padding for a stack
// alone, copies and Node::outside, is taken away. Requires check(network).
void stack_poolings(LoadedNetwork& loaded);

// Fails unless every stack pads by as much as what it reads reaches further beyond the volume than what it writes. Nor
// may that leave out voxels of the volume. The error names the node.
[[nodiscard]] Result<void> check_stacks(const Network& network);

// Returns the network with a node for each stage of every stack, the last one of its name; padding is held where
// without_padding() lets it be (planner/network/padding.hpp). stack_poolings() joins them again.
[[nodiscard]] LoadedNetwork unstacked(LoadedNetwork loaded);

}  // namespace znni
