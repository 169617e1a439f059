// Applies what a model's configuration says of its network; daemon and planner use this function, so that both have the
// same network.
#pragma once

#include <span>

#include "planner/network/graph_passes.hpp"
#include "proto/convert/text/model_config.hpp"

namespace znni {

// Gives a network that is bound to its window (is_tile_bound()) that window: one number for all axes, or one for each
// that the network has. No numbers leave it as it is. Fails with invalid_argument if the network is not bound to its
// window, or if its file declares another one. It also fails if it takes no volumes of that extent. Requires
// check(network).
[[nodiscard]] Result<void> set_window(Network& network, std::span<const std::int64_t> window);

// Returns the network with the window of the settings, and with their output activation as its last node or part of it.
// The settings' outputs must have been chosen when the file was read. Fails as set_window() does, also for a softmax of
// several outputs. It also fails if they say how windows overlap and the network is not bound to one.
[[nodiscard]] Result<LoadedNetwork> configured(LoadedNetwork loaded, const ModelSettings& settings);

}  // namespace znni
