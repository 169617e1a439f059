#include "server/http_models.hpp"

#include "server/rpc/connections/local_peer.hpp"

namespace znni {
namespace {

bool is_loopback(const std::string& address) {
  return address == "localhost" || rpc::is_local_peer("ipv4:" + address + ":0") ||
         rpc::is_local_peer("ipv6:[" + address + "]:0");
}

}  // namespace

bool has_local_http(const Options& options) {
  return options.http_models != HttpModels::on && is_loopback(options.metrics_address);
}

std::string why_no_http_models(const Options& options) {
  constexpr const char* way_out = " (znnid --http-infer on serves them all the same)";
  if (options.http_models == HttpModels::on) return {};
  if (options.http_models == HttpModels::off) return "--http-infer is off";
  if (options.use_ssl || options.use_ssl_mutual) {
    return std::string("gRPC has TLS here, which HTTP has not") + way_out;
  }
  if (is_loopback(options.metrics_address)) return {};
  return "--metrics-address " + options.metrics_address + " is not a loopback address" + way_out;
}

}  // namespace znni
