// Axes along which a patch is the whole volume. Nothing beyond the volume's border is computed there. A value has the
// volume's own voxels and, around them, a margin that holds its readers' padding (OutsideKind). Windows are as in the
// framed volume (planner/network/padding.hpp), cut at the volume's border.
#pragma once

#include <string>
#include <vector>

#include "planner/network/network.hpp"

namespace znni {

// Zeros along other axes; empty lists where no axis is closed. Axes as the network has them.
struct ClosedAxes {
  std::vector<Border> cuts;     // per value: voxels of its window in the framed volume that are not computed
  std::vector<Border> margins;  // per value: voxels of padding around those that are computed
  std::vector<Border> reads;    // per node: voxels beyond what is computed of its first input that it reads of that;
                                // below 0: voxels that it passes over
  bool operator==(const ClosedAxes&) const = default;
};

// Returns what is not computed where `axes`, 1 along those, else 0, are closed. Requires check_closed().
[[nodiscard]] ClosedAxes close_axes(const Network& network, Vec3 axes);

// Fails with invalid_argument if no node pads along a closed axis, or if a dense pooling strides along it. Fails so,
// too, if Node::outside does not set what nodes read beyond the border, or if the output reaches beyond the volume.
[[nodiscard]] Result<void> check_closed(const Network& network, Vec3 axes);

// Returns 1 along the axes along which some value is cut: along others closing saves nothing.
[[nodiscard]] Vec3 axes_cut(const ClosedAxes& closed);

// Returns "yx" for {0, 1, 1}; "" where no axis is closed.
[[nodiscard]] std::string axes_text(Vec3 axes);

// Returns the margin of a value.
[[nodiscard]] Border margin_of(const ClosedAxes& closed, int value);
// Returns what node `node`, whose input number `input` is `value`, reads of it beyond what is computed.
[[nodiscard]] Border read_beyond(const ClosedAxes& closed, int node, int input, int value);

}  // namespace znni
