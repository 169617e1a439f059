// Shapes through the net for one choice of input extent, S and pooling modes.
//
// A *patch* is what one step of the engine turns from input voxels into dense output voxels. Where every
// pooling makes fragments (MPF), the net runs once per patch. A plain pooling of stride q keeps one offset of
// q, so the net runs once for every combination of offsets of its plain poolings: each run is a *pass*, on a
// window of the patch shifted by the offset (the naive method when all poolings are plain; ZNNi section V).
#pragma once

#include <array>
#include <vector>

#include "planner/network.hpp"
#include "primitives/core/fragments.hpp"

namespace znni {

struct GeometryChoice {
  Vec3 pass_input;              // input extent of one pass
  std::int64_t S = 1;           // patches computed together
  std::vector<PoolMode> modes;  // one per pooling_nodes(network)
  bool operator==(const GeometryChoice&) const = default;
};

struct Geometry {
  GeometryChoice choice;
  std::vector<LayerProblem> problems;      // per node; S counts fragments
  std::vector<Shape5> values;              // per value: shapes of a pass, [0] is the input
  std::array<AxisFragments, 3> fragments;  // of the output value, per axis z, y, x
  std::vector<Vec3> passes;                // where each pass's window begins in the patch; at least {0,0,0}
  Vec3 patch_input;                        // extent a patch reads: pass_input + the largest shift
  Vec3 patch_output;                       // dense extent it writes: patch_input - fov + 1
};

// Requires check(network). A plain pooling must divide as well, (n - window) by its stride: no voxel is read in
// vain, and for every combination of modes patch_output = stride * n, stride and n those of the output.
// Branches that meet need equal fragments. At most 2^16 passes. The error says which node's extent does not
// divide or is too small.
[[nodiscard]] Result<Geometry> make_geometry(const Network& network, const GeometryChoice& choice);

// Legal pass_input extents along one axis, rising, up to `most`, for the given modes; none where branches make
// other fragments or the number of modes is wrong. The axes are independent: extents that are legal along each
// are legal together. Cheap: an arithmetic progression.
[[nodiscard]] std::vector<std::int64_t> legal_extents(const Network& network, const std::vector<PoolMode>& modes,
                                                      int axis, std::int64_t most);

// Position, in the dense output of the patch, of voxel `v` of fragment `fragment` (row-major index) of pass
// `pass`: stride * v + fragment offset + pass offset.
[[nodiscard]] Vec3 dense_position(const Geometry& geometry, std::size_t pass, std::int64_t fragment, Vec3 v);

}  // namespace znni
