// The operation of a node in a network's text (proto/network.proto): how each reads and is written.
#pragma once

#include "planner/network/network.hpp"
#include "proto/network.pb.h"

namespace znni {

// Returns the node's operation. `rank` is the network's number of spatial axes. Fails if the node has none, or one that
// lacks a field; the operation's own numbers are not checked.
[[nodiscard]] Result<Operation> operation_of(const text::Node& node, int rank);

// Returns the padding around the node's first input. Fails if it is not in [0, 2^20].
[[nodiscard]] Result<Border> pads_of(const text::Node& node, int rank);

// Writes the operation into the node, in the fields that operation_of() reads.
void set_operation(text::Node& node, const Operation& operation, int rank);

}  // namespace znni
