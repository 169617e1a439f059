// The process itself, under the names that every Prometheus client uses for it.
#pragma once

#include <cstdint>

#include "server/metrics/prometheus_text.hpp"

namespace znni {

// Returns the bytes of memory that the process has now.
[[nodiscard]] std::int64_t resident_bytes();

// Writes processor seconds, memory, threads, descriptors and the time of the start, each where the system tells it.
void write_process_metrics(PrometheusText& out);

}  // namespace znni
