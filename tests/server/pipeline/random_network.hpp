// Small random nets with poolings and branches, for tests of what runs them.
#pragma once

#include "planner/network/network.hpp"
#include "tests/support/random.hpp"

namespace znni::test {

// Draws a network: 1 to 3 poolings of window and stride 1 to 3 (some with another window), convolutions around them,
// and with a chance each a residual addition, a cropped branch beside a convolution, a concatenation and other
// element-wise nodes. The field of view stays at most `max_fov` per axis.
[[nodiscard]] Network random_network(Random& random, std::int64_t max_fov = 20);

// Returns conv k -> pool 2 -> conv k -> ..., `poolings` times, ending in a convolution; for tests by hand.
[[nodiscard]] Network simple_network(int poolings, Vec3 k = Vec3::cube(3), std::int64_t f = 3);

// Returns a network whose branches pool by 2 then 3 and by 3 then 2 before they are concatenated.
[[nodiscard]] Network network_of_crossed_poolings();

}  // namespace znni::test
