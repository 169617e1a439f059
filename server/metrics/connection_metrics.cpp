#include "server/metrics/connection_metrics.hpp"

#include <utility>

namespace znni {

void write_connections(const rpc::ConnectionFacts& facts, PrometheusText& out) {
  out.family("znni_connections", "gauge", "Connections of clients that are open on the gRPC port.");
  out.sample({}, facts.open);
  out.family("znni_connections_limit", "gauge", "How many may be: --max-connections.");
  out.sample({}, facts.most);
  out.family(
      "znni_refused_connections_total", "counter",
      "Connections closed at once, by what was used up: connections in all (server), those of one address "
      "(client), descriptors of the process (descriptors), or the patience with clients that reset calls (resets).");
  for (const auto& [limit, count] :
       {std::pair{"server", facts.refused_by_server}, std::pair{"client", facts.refused_by_client},
        std::pair{"resets", facts.refused_by_resets}, std::pair{"descriptors", facts.refused_by_descriptors}}) {
    out.sample({{"limit", limit}}, count);
  }
  out.family("znni_cut_connections_total", "counter",
             "Connections broken since their client began too many calls that it reset or left open.");
  out.sample({}, facts.cut);
}

void write_http_connections(const HttpFacts& facts, PrometheusText& out) {
  out.family("znni_http_closed_connections_total", "counter",
             "Connections of the HTTP port that were closed before their request was answered: for others, since their "
             "client had its share (share), or since it took too long (late).");
  out.sample({{"reason", "share"}}, facts.over_share);
  out.sample({{"reason", "late"}}, facts.late);
}

}  // namespace znni
