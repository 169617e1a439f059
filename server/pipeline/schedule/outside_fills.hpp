// What readers take for padding in the tensor of a patch, as work for an accelerator.
#pragma once

#include <span>
#include <vector>

#include "planner/network/network.hpp"
#include "primitives/core/outside_fill.hpp"

namespace znni {

// Returns a fill for each input of `view` of which some voxels are outside. Voxel v of its input s is voxel starts[s] +
// v of a value of extent `whole`, which is inside from border.begin to whole - border.end. The first `kept` planes are
// of earlier steps. The fills do what fill_outside(), fill_edges() and fill_reflected() do for these kinds
// (outside.hpp).
[[nodiscard]] std::vector<OutsideFill> outside_fills(const TensorView& view, std::span<const Vec3> starts,
                                                     const Border& border, Vec3 whole, OutsideKind kind,
                                                     std::int64_t kept);

}  // namespace znni
