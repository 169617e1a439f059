// Branches that begin with like convolutions of one tensor. If they meet again soon, each begins with some channels of
// a single convolution, which transforms the tensor once for all. What it writes is alive at once: all channels of the
// branches, where one after the other may have needed the memory of one. So together they have no more channels than
// the tensor. Zeros times an infinity or a NaN of another branch are NaNs, which the branch by itself would not have.
#pragma once

#include "planner/network/graph_edits.hpp"

namespace znni {

// Joins two inputs of the Concat `node` that stand side by side to one of all their channels, with the name of the
// first. Both must be convolutions that no other node reads and that differ in nothing but their kernels and channels.
// A Concat of one input is removed.
bool join_convolutions(LoadedNetwork& loaded, int node);

// Joins two branches that are inputs of the Concat or Add `node`. A branch is a convolution (the last) of a convolution
// (the first), and no other node reads either. The two first become one, and so do the two last, if
//   the first read one tensor and differ in nothing but their kernels and channels, and so do the last;
//   the first write at most as many channels together as the tensor has, those joined before included, to save memory;
//   (Add) the last have no activation, so that one convolution can sum over the channels of both;
//   (Concat) the branches stand side by side, the first have kernels of more than one voxel, the last of one, and the
//   last write at most 16 channels together. Each then has zeros for the channels of the other, which fill vector lanes
//   that would be empty (measured with 16 lanes: docs/benchmarks/2026-11-22.md). First kernels of one voxel gained
//   next to nothing where they were narrow;
// and the Concat or Add has at most 16 inputs. An Add that is left with one input becomes its activation; a Concat of
// one input is removed.
bool join_branches(LoadedNetwork& loaded, int node);

// Lets the convolution `node` take in the channels of a later one of the same tensor, if
//   the two differ in nothing but their kernels and channels, and have kernels of more than one voxel,
//   all readers of either are convolutions of one voxel to at most 16 channels; they get zeros for the channels of the
//   other,
//   the readers thus read in vain, counted once per reader, at most as many channels as the tensor has,
//   and at most 16 nodes read the tensor.
bool join_siblings(LoadedNetwork& loaded, int node);

}  // namespace znni
