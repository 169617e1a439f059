// The volumes that plans are made for: those of `znnid --volume`.
#pragma once

#include <optional>

#include "planner/network/network.hpp"

namespace znni {

struct PlannedVolume {
  std::optional<Vec3> extent;  // nothing: volumes without end
  bool is_padded = false;      // by what the network takes away, so that the output has that extent

  // Returns the extent of the network's input, the frame of a network that pads included; nothing if there is no
  // extent. Requires check(network).
  [[nodiscard]] std::optional<Vec3> input_of(const Network& network) const;
};

}  // namespace znni
