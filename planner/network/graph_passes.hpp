// Passes that shorten a network before it is planned. A convolution takes in batch normalisations, and ends its sums
// with additions. The node before an activation applies it while it writes. Convolutions of the same tensor become one,
// so that the tensor is transformed once for all. The passes look at the graph alone, never at the numbers, so that a
// net without weights is planned exactly as the loaded one.
#pragma once

#include "planner/network/graph_edits.hpp"

namespace znni {

// Returns the network after these passes. Requires check(network) and, if there are weights, check_weights. Passes run
// in this order, each until it finds nothing more, and then from the beginning again:
//   activations that do nothing (kind none) and crops of nothing are removed;
//   a Crop takes in the Crop that it reads, if it is the only reader, and a nearest Upsample the one that it reads;
//   a ScaleShift goes into the convolution that it reads (if it is the only reader and there is no activation yet):
//     kernel'[j] = scale[j] kernel[j], bias'[j] = scale[j] bias[j] + shift[j];
//   or in the same way into the normalisation that it reads, which has a scale and a shift of its own;
//   or into its readers if all are convolutions that do not pad, which is exact because they are valid:
//     kernel'[j][i] = kernel[j][i] scale[i], bias'[j] = bias[j] + sum over i, d of kernel[j][i][d] shift[i];
//   an Activate goes into the convolution, normalisation or addition it reads, if it is the only reader and that has no
//     activation yet;
//   addends of one Add that are maps of one tensor become a single convolution of it (planner/network/graph_sums.hpp);
//   branches that begin with like convolutions of one tensor, and meet behind one more, become one if that costs
//     next to no work, and no more memory than the tensor takes (planner/network/graph_branches.hpp);
//   an Add of two values goes, with its activation, into the convolution that writes the later one, whose residual is
//     then the earlier value. It must be the only reader, and the convolution must have neither activation nor residual
//     yet. A Crop that is the later value moves before the convolution first, if it reads nothing of it;
//   convolutions whose outputs a Concat puts side by side become one of all their channels, and so do those of one
//   tensor
//     that small convolutions of one voxel read (the same).
// At the end max filters become poolings with strides (planner/network/max_filters.hpp), and convolutions behind
// quotients are marked (planner/network/quotients.hpp). Poolings of stride 1 become stacks with what is computed voxel
// by voxel around them (planner/network/stacks.hpp). The remaining nodes keep their names and, but for such crops,
// their order; the output stays last; check() still holds.
[[nodiscard]] LoadedNetwork fold_and_fuse(LoadedNetwork loaded);

// Does only what takes scales and shifts into convolutions and normalisations, and removes what does nothing:
// activations and sums stay nodes, and no convolutions are joined. For training: of joined convolutions the zeros
// between their channels would become weights.
[[nodiscard]] LoadedNetwork fold_scales(LoadedNetwork loaded);

}  // namespace znni
