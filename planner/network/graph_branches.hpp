// Branches that begin with like convolutions of one tensor. If they meet again soon, each begins with some images of a
// single convolution, which transforms the tensor once for all. What it writes is alive at once: all images of the
// branches, where one after the other may have needed the memory of one. So together they have no more images than the
// tensor. Zeros times an infinity or a NaN of another branch are NaNs, which the branch by itself would not have.
#pragma once

#include "planner/network/graph_edits.hpp"

namespace znni {

// Joins two inputs of the Concat `node` that stand side by side to one of all their images, with the name of the first.
// Both must be convolutions that no other node reads and that differ in nothing but their kernels and images. A Concat
// of one goes.
bool join_convolutions(LoadedNetwork& loaded, int node);

// Joins branches. Of two inputs of the Concat or Add `node`, each a convolution (the last) of a convolution (the first)
// and read by no other node, the first and the last become one each, if
//   the first differ in nothing but their kernels and images, of which one tensor is read, and so do the last;
//   the first write at most as many images together as the tensor has, those joined before counted in: memory;
//   where they are added, the last have no activation: one sums over the images of both;
//   where they are put side by side, they stand so, the first have kernels of more than one voxel (of one, narrow
//   ones gained next to nothing), the last of one, and the last write at most 16 images together: each has zeros for
//   the images of the other, which fill vector lanes that would be empty. Measured with 16 lanes:
//   docs/benchmarks/2026-11-22.md;
// and the Concat or Add has at most 16 inputs. An Add that is left with one input becomes its activation, such a Concat
// goes.
bool join_branches(LoadedNetwork& loaded, int node);

// Lets the convolution `node` take in the images of a later one of the same tensor, if
//   they differ in nothing but their kernels and images, and have kernels of more than one voxel,
//   all that read either are convolutions of one voxel to at most 16 images, which get zeros for the images of the
//   other,
//   they read so in vain, counted once per reader, at most as many images as the tensor has,
//   and at most 16 read the tensor.
bool join_siblings(LoadedNetwork& loaded, int node);

}  // namespace znni
