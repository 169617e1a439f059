// The state of the daemon's models and memory, for Prometheus and for probes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/jobs/memory_shares.hpp"
#include "server/jobs/model_server.hpp"
#include "server/metrics/prometheus_text.hpp"

namespace znni {

// Writes models, queues and memory by pool, and the process as every Prometheus client describes it.
void write_server_metrics(const ModelServer& models, const MemoryShares& shares, std::string_view version,
                          PrometheusText& out);

// Returns, in one line, why a request to some configured model would be refused now; nothing if none would.
[[nodiscard]] std::optional<std::string> unready_reason(const ModelServer& models);

// Returns why the process should be started again, if the job that computes has shown no progress for `max_seconds`.
[[nodiscard]] std::optional<std::string> stuck_reason(const ModelServer& models, Seconds max_seconds);

}  // namespace znni
