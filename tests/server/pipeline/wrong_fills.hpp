// Networks in which something else lies outside the volume than what their nodes pad with. Tests that compare a network
// with its definition must fail for them.
#pragma once

#include <functional>
#include <optional>

#include "planner/geometry/geometry.hpp"
#include "tests/server/pipeline/padded_network.hpp"

namespace znni::test {

using DrawNetwork = std::function<PaddedNetwork(Random&)>;
// Changes what lies outside a node's value.
using ChangeFill = std::function<void(Node&)>;
// Draws patches or a stream of a network for a volume; nothing if the network has none of the kind that is asked for.
using DrawChoice = std::function<std::optional<GeometryChoice>(const Network&, Vec3, Random&)>;

// Switches the fill of a node's value off.
void unfilled(Node& node);

// Draws a patch, or a stream, of at most two strides more than the least.
[[nodiscard]] std::optional<GeometryChoice> any_patch(const Network& network, Vec3 volume, Random& random);
[[nodiscard]] std::optional<GeometryChoice> any_stream(const Network& network, Vec3 volume, Random& random);

// Returns how many of ten drawn networks are computed wrongly, by more than 1e-3 of the largest value, when `change`
// has changed all their nodes. Throws if the networks drawn have too few such choices.
[[nodiscard]] int wrong_when(const DrawNetwork& draw, const ChangeFill& change, const DrawChoice& choose);

}  // namespace znni::test
