// Padded networks as valid ones. The input is the volume in a frame of zeros as wide as all padding on the way to the
// output together, and padding itself is left out: every node is valid, and computes some voxels beyond the border of
// what it would write of the volume alone. Those stand where its readers' padding would: they are set to zero
// (Node::outside) before they are read. So patches inside a volume cost nothing more, and all that works on valid
// networks, search, streams and patches of any grid, works on padded ones.
//
// Branches that have used up different parts of the frame meet behind a Crop.
#pragma once

#include <vector>

#include "planner/network/graph_edits.hpp"

namespace znni {

// `pads`: per node, up to 2^20 zeros around its first input; all none: returns `loaded` as it is. A node that pads must
// be a convolution, and branches meet with equal extents. The error names the node.
[[nodiscard]] Result<LoadedNetwork> without_padding(LoadedNetwork loaded, const std::vector<Border>& pads);

}  // namespace znni
