// Quotients of tensors, whose voxels may be infinite or NaN where the divisor is 0: in the volume, and in what a patch
// or the first step of a stream computes beside it and drops.
#pragma once

#include "planner/network/network.hpp"

namespace znni {

// Says of every convolution whether a quotient is on the way to what it reads (Convolution::local). Such a convolution
// makes each voxel of its window alone, so that none reaches further than the network's field of view.
void mark_behind_quotients(Network& network);

}  // namespace znni
