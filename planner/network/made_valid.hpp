// Networks that pad, without their padding: another network, valid in the file, too, whose output is the padded one's
// where that depends on no padding (planner/network/padding.hpp computes the padded one).
//
// Pads become 0. A voxel that the padded network computes from padding is computed no more. So branches that meet have
// lost different voxels at their ends, and the larger one is cropped to the smaller one. A stride reads from the same
// voxels of its input as with padding, for which the input may be cropped. An upsampling that interpolates has pads in
// every file, and so has a transposed convolution whose kernel is longer than its stride: what these make of their
// borders is cropped behind them.
#pragma once

#include <string>
#include <vector>

#include "planner/network/graph_edits.hpp"

namespace znni {

enum class ValidChangeKind {
  unpadded,        // a node's pads are 0
  removed,         // a node that only pads is no more
  input_cropped,   // `voxels` of input number `input` are taken away before the node reads it
  output_cropped,  // `voxels` of what the node writes are taken away; of a crop: as many, and no longer those of the
                   // file
};

// What happens to a node of the file; "input" and "output" stand for the network's own.
struct ValidChange {
  std::string node;
  ValidChangeKind kind = ValidChangeKind::unpadded;
  Border voxels;
  int input = 0;
  bool operator==(const ValidChange&) const = default;
};

struct MadeValid {
  LoadedNetwork loaded;              // passes check() and check_weights(); nothing in it pads
  std::vector<ValidChange> changes;  // in the order of nodes; none if nothing pads
  // The voxel of the padded network's output that the first voxel of the valid one's equals, of a volume that both
  // read.
  Vec3 first;
  // Voxels of the valid output for one that the padded network computes; it repeats each of its own as often. Above 1
  // if the valid network is dense where the padded one is coarse: then every `step`-th voxel of both is equal, counted
  // from the padded one's first.
  Vec3 step = Vec3::cube(1);
};

// Returns whether some node of the network reads padding.
[[nodiscard]] bool has_padding(const Network& network);

// Returns the network without padding; as it is if nothing pads. Requires a network as read_onnx() returns it, with
// weights or without. Fails with unsupported if the network is bound to its window, since every voxel then depends on
// padding. It also fails if no network remains that check() passes; the error names the node.
[[nodiscard]] Result<MadeValid> make_valid(const LoadedNetwork& padded);

}  // namespace znni
