// The fields that the JSON of a layer and of a step of training share.
#pragma once

#include <nlohmann/json.hpp>

#include "tests/bench/report_head.hpp"

namespace znni::bench {

// Returns problem, f, f_out, k, n, S, device, threads, flops_per_second, read_bytes_per_second, load.
[[nodiscard]] nlohmann::ordered_json head_json(const ReportHead& head);

}  // namespace znni::bench
