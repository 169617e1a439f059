// Finds which voxels of every value a whole volume asks for, padding and strides counted (planner/network/padding.hpp).
#pragma once

#include <vector>

#include "planner/network/graph_edits.hpp"

namespace znni {

// Voxels [begin, end) of a value, in its own voxels: 0 is the first that the network has of the volume alone. What lies
// below 0 or beyond its extent is padding.
struct ValueWindow {
  Vec3 begin;
  Vec3 end;
  bool operator==(const ValueWindow&) const = default;
};

// Windows of a volume of extent extents[0], large enough for all of them; borders are those of every volume that is
// whole periods larger or smaller.
struct ValueWindows {
  std::vector<Vec3> extents;        // per value, of the volume alone
  std::vector<ValueWindow> values;  // per value: what it has to be computed of; [0]: read of the volume and its frame

  // Returns the voxels around the volume that the first window has.
  [[nodiscard]] Border frame() const;
  // Returns what node `number` reads of its input number `input`.
  [[nodiscard]] ValueWindow read_by(const Network& network, const std::vector<Border>& pads, int number,
                                    int input) const;
};

// Returns the voxels of the input for one of the output, padding aside. `pads`: per node, around its first input.
// Requires check_nodes(network). Fails with `unsupported` if branches have different strides, or if a node upsamples
// what has no stride; the error names the node.
[[nodiscard]] Result<Vec3> find_output_stride(const Network& network, const std::vector<Border>& pads);

// Returns likewise those of the values that the last node joins, if it is a Concat of as many as the network has
// outputs; else none. They may differ. Requires a node; else requires and fails as find_output_stride() does.
[[nodiscard]] Result<std::vector<Vec3>> find_joined_strides(const Network& network, const std::vector<Border>& pads);

// Finds the windows of all values. `declared`: extents of the input that a file names, or 0. Requires
// check_nodes(network), and an output stride of 1. Fails as find_output_stride() does, and if branches never meet.
[[nodiscard]] Result<ValueWindows> find_windows(const Network& network, const std::vector<Border>& pads, Vec3 declared);

}  // namespace znni
