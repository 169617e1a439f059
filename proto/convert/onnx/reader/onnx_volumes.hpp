// Finds the volumes for which a file is read that computes with extents.
//
// The extents of what a node writes follow from those of the volume by a rule that holds for the volumes of one
// remainder (proto/convert/onnx/graph/onnx_extents.hpp). Which remainder and which step is known only when the net is
// read. So the nodes are read for large volumes first, remainder by remainder, until branches meet; the net that comes
// out says which volumes it takes; and for exactly those the nodes are read again, from the smallest volume on that
// leaves no value empty.
#pragma once

#include <functional>

#include "planner/network/blockers.hpp"
#include "proto/convert/onnx/graph/onnx_builder.hpp"

namespace znni {

struct OnnxReading {
  std::function<OnnxBuilder()> make;
  // Reads all nodes. Sets the blockers to all that they are refused for, and returns the first.
  std::function<Result<void>(OnnxBuilder&, Blockers&)> read;
};

// Returns the volumes for which the nodes are to be read. An axis that the file declares has its extent, and no step.
// Fails if the nodes cannot be read, or branches do not meet, for any remainder up to 63. Then the error and `all` are
// of one remainder, the first of those with the fewest blockers: those of others may come of the remainder alone.
// Without blockers, the network as a whole is refused.
[[nodiscard]] Result<VolumeExtents> find_volumes(const OnnxReading& reading, Blockers& all);

// Fails unless the net takes the volumes that it was read for. Along axes with a step it must take no others that are
// larger than the smallest one. A dense net takes any declared extent from its field of view on: poolings leave what is
// over at its end unread.
[[nodiscard]] Result<void> check_covered(const Network& network, const VolumeExtents& volumes);

}  // namespace znni
