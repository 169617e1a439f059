// Sums of maps of one tensor. A convolution without an activation is linear. So those of one tensor that meet in an Add
// are one convolution whose taps are the sums of theirs. Such are blocks that are trained with a small kernel, a
// normalisation or the bare tensor beside the kernel that they need. One pass over the tensor is then left, with one
// inverse transform.
#pragma once

#include "planner/network/graph_edits.hpp"

namespace znni {

// Joins two inputs of the Add `node` to one, and returns true, if
//   one is a convolution without activation or residual, read by no other node,
//   the other is such a convolution, a ScaleShift or the bare tensor,
//   both of one tensor, each cropped before or behind, or not at all,
//   and every tap of the other falls onto one of the convolution's, so that the sum has no more of them,
// and the Add has at most 16 inputs.
// Removes what no node reads then. An Add that is left with one input becomes its activation.
bool join_addends(LoadedNetwork& loaded, int node);

}  // namespace znni
