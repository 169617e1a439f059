// Results of a net, as text and as JSON.
#pragma once

#include <string>

#include "tests/bench/net_bench.hpp"

namespace znni::bench {

// Returns two tables, of the runs and of the nodes.
[[nodiscard]] std::string net_text(const NetTimes& times);

// Returns one object: network, seeded_weights, patch, S, passes, bytes, basis, predicted_seconds, touch_seconds, runs
// (kind, seconds, measured_over_predicted, voxels_per_second), nodes (node, name, primitive, basis, predicted_ms,
// measured_ms), rest_ms.
[[nodiscard]] std::string net_json(const NetTimes& times);

}  // namespace znni::bench
