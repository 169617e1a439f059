// Undoes what fusing did: networks with one node for each thing that they compute, as files have them.
#pragma once

#include "planner/network/graph_edits.hpp"

namespace znni {

// Returns the network with every fused activation as a node "NAME activation" behind the node NAME that applied it.
// Every residual becomes an Add "NAME sum" of what the convolution NAME writes and the residual. A stack becomes a node
// for each stage (planner/network/stacks.hpp). A number is appended to a name that is taken. The rest is as it was,
// weights included; fold_and_fuse() fuses it again. Requires check(network).
[[nodiscard]] LoadedNetwork unfused(LoadedNetwork loaded);

}  // namespace znni
