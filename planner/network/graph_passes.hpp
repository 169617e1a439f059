// Passes that shorten a network before it is planned: batch normalisations that a convolution can take in, activations
// that the node before them can apply while it writes, additions that a convolution can end its sums with, and
// convolutions beside others of the same tensor, which is then transformed once for all. The passes look at the graph
// alone, never at the numbers, so that a net without weights is planned exactly as the loaded one.
#pragma once

#include "planner/network/graph_edits.hpp"

namespace znni {

// Requires check(network) and, where there are weights, check_weights. In this order, each until nothing more is found,
// and from the beginning again:
//   activations that do nothing (kind none) and crops of nothing are removed;
//   a Crop takes in the Crop that it reads, if it is the only reader, and a nearest Upsample the one that it reads;
//   a ScaleShift goes into the convolution it reads (its only reader, no activation yet):
//     kernel'[j] = scale[j] kernel[j], bias'[j] = scale[j] bias[j] + shift[j];
//   or in the same way into the normalisation it reads, which has a scale and a shift of its own;
//   or into its readers when all are convolutions that do not pad, exact because they are valid convolutions:
//     kernel'[j][i] = kernel[j][i] scale[i], bias'[j] = bias[j] + sum over i, d of kernel[j][i][d] shift[i];
//   an Activate goes into the convolution, normalisation or addition it reads, if it is the only reader and that has no
//     activation yet;
//   addends of one Add that are maps of one tensor become a single convolution of it (planner/network/graph_sums.hpp);
//   branches that begin with like convolutions of one tensor, and meet behind one more, become one where that costs
//     next to no work, and no more memory than the tensor takes (planner/network/graph_branches.hpp);
//   an Add of two values goes, with its activation, into the convolution that writes the later one, if it is the only
//     reader and the convolution has neither activation nor residual yet: the earlier value becomes the residual; a
//     Crop that is the later one moves before the convolution first, where it reads nothing of it;
//   convolutions whose outputs a Concat puts side by side become one of all their images, and so do those of one tensor
//     that small convolutions of one voxel read (the same).
// The remaining nodes keep their names and, but for such crops, their order; the output stays last; check() still
// holds.
[[nodiscard]] LoadedNetwork fold_and_fuse(LoadedNetwork loaded);

// Does only what takes scales and shifts into convolutions and normalisations, and removes what does nothing:
// activations and sums stay nodes, and no convolutions are joined. For training: of joined convolutions the zeros
// between their images would become weights.
[[nodiscard]] LoadedNetwork fold_scales(LoadedNetwork loaded);

}  // namespace znni
