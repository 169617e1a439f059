// Plans made without the search: given geometries, any planar primitive per node.
#pragma once

#include <optional>
#include <vector>

#include "planner/costs/catalogue.hpp"
#include "planner/plan/plan.hpp"
#include "tests/support/random.hpp"

namespace znni::test {

// Makes one rung per geometry. Each node has one of the estimates that read and write planar float32, at random.
[[nodiscard]] Result<Plan> hand_plan(const Network& network, const std::vector<GeometryChoice>& ladder,
                                     const Catalogue& catalogue, const DeviceSpec& spec, Random& random);

// Draws a legal choice near the smallest: random modes, up to `steps` strides above the least extent.
[[nodiscard]] GeometryChoice random_choice(const Network& network, Random& random, std::int64_t S = 1,
                                           std::int64_t steps = 3);
// Draws a stream along any axis, of up to `steps` strides of new planes; nothing if the drawn modes do not allow one.
[[nodiscard]] std::optional<GeometryChoice> random_stream(const Network& network, Random& random,
                                                          std::int64_t steps = 3);
// Returns a choice with all poolings in `mode` and every extent `step` strides above the least.
[[nodiscard]] GeometryChoice choice_of(const Network& network, PoolMode mode, std::int64_t step, std::int64_t S = 1);

}  // namespace znni::test
