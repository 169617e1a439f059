// The connections of both ports, for Prometheus.
#pragma once

#include "server/metrics/http_connections.hpp"
#include "server/metrics/prometheus_text.hpp"
#include "server/rpc/connections/connection_facts.hpp"

namespace znni {

void write_connections(const rpc::ConnectionFacts& facts, PrometheusText& out);  // of the gRPC port
void write_http_connections(const HttpFacts& facts, PrometheusText& out);

}  // namespace znni
