// Which networks can be trained.
#pragma once

#include "planner/network/network.hpp"

namespace znni {

// Fails with `unsupported` if a node has no gradient, or if no node has weights. Nodes that bind a network to its
// window have none. It also fails if a patch cannot be padded as a whole volume is (check_closed()). The error names
// the node.
[[nodiscard]] Result<void> check_trainable(const Network& network);

// Returns whether the node has kernels, slopes or scales, which are trained.
[[nodiscard]] bool has_weights(const Node& node);

}  // namespace znni
