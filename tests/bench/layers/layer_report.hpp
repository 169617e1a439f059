// Results of one layer, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "tests/bench/layers/layer_bench.hpp"
#include "tests/bench/report_head.hpp"

namespace znni::bench {

struct LayerReport : ReportHead {
  std::vector<PrimitiveTimes> primitives;
};

// Returns a head with the machine's measured rates, then a table.
[[nodiscard]] std::string layer_text(const LayerReport& report);

// Returns one object: problem, f, f_out, k, n, S, device, threads, flops_per_second, read_bytes_per_second, load,
// primitives. A primitive that ran has: primitive, variant, in, out, tried, seconds, processor_seconds_per_thread
// (medians), joules (or null), effective_flops_per_second (of the direct algorithm), speed_over_last, persistent_bytes,
// transient_bytes, error, runs (seconds of each). Any other has: primitive, refusal.
[[nodiscard]] std::string layer_json(const LayerReport& report);

}  // namespace znni::bench
