// The connections of the gRPC port, for Prometheus.
#pragma once

#include "server/metrics/prometheus_text.hpp"
#include "server/rpc/connection_facts.hpp"

namespace znni {

void write_connections(const rpc::ConnectionFacts& facts, PrometheusText& out);

}  // namespace znni
