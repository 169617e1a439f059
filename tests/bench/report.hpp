// What a benchmark found, for people and for programs.
#pragma once

#include <string>

#include "tests/bench/net_bench.hpp"

namespace znni::bench {

// Tables: the runs, then the nodes.
[[nodiscard]] std::string net_text(const NetTimes& times);

// One object: network, seeded_weights, patch, S, passes, bytes, basis, predicted_seconds, touch_seconds, runs (kind,
// seconds, measured_over_predicted, voxels_per_second), nodes (node, name, primitive, basis, predicted_ms,
// measured_ms), rest_ms.
[[nodiscard]] std::string net_json(const NetTimes& times);

}  // namespace znni::bench
