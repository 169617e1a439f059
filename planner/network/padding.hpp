// Networks that pad, or have strides of their own, as valid ones on one lattice.
//
// Padding: the input is the volume in a frame of zeros, and padding itself is left out. The frame is as wide as all
// padding on the way to the output together. So every node is valid, and computes some voxels beyond the border of what
// it would write of the volume alone. Those stand where its readers' padding would, and are set before they are read:
// to zero (Node::outside), for a max pooling to -infinity. For a linear upsampling or a crop they are set to the
// nearest voxel of the volume; for a crop that reflects, to the voxel as far inside the border. So patches inside a
// volume cost nothing more. All that works on valid networks (search, streams, patches of any grid) works on padded
// ones.
//
// Strides: a network that upsamples, or pads with strides, has voxels of several sizes. Its poolings keep the first
// offset (Pooling::strided). The volume's extents are those for which all branches meet, one residue of the period. If
// the output itself is left with a stride, a last upsampling repeats each of its voxels (Network::output_stride). So
// the output belongs to the volume voxel by voxel. Several outputs that a last Concat joins and that have different
// strides are repeated each by its own (NamedTensor::stride), before they are joined.
//
// The window of every value is found from the output backwards: of what its readers ask, the hull. A reader that asks
// for less reads through a Crop.
#pragma once

#include <vector>

#include "planner/network/graph_edits.hpp"

namespace znni {

// Returns the valid network. `pads`: per node, up to 2^21 voxels around its first input; a node that pads must be a
// convolution, a pooling, a linear upsampling or a crop. An average pooling counts them. A crop that pads repeats
// the voxels at the border outwards, as many as its pads are wider than what it crops; it crops as many at the other
// end, and one that reflects twice as many. So what is read together holds each voxel and its copy. A convolution whose
// window holds both takes in the crop that reflects (planner/network/reflections.hpp). `declared`: the input's extents
// as the file has them, 0 where it leaves an axis open; among residues for which branches meet theirs comes first.
// Returns `loaded` as it is if no node pads and none has a stride of the network's own. The error names the node.
[[nodiscard]] Result<LoadedNetwork> without_padding(LoadedNetwork loaded, std::vector<Border> pads, Vec3 declared = {});

}  // namespace znni
