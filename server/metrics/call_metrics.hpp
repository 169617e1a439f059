// Counts the calls that carried volumes, and what flows in those that are under way, for Prometheus.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include "server/metrics/prometheus_text.hpp"
#include "server/rpc/calls/call_record.hpp"
#include "server/rpc/calls/refusal.hpp"

namespace znni {

// Thread safe.
class CallMetrics {
 public:
  // Adds a call. Counts models by name and version only if they are known to have run. So names that clients make up do
  // not make ever more series.
  void add(const rpc::CallRecord& call);
  // Counts voxels, patches and bytes: of a call that has ended, all were told of before.
  void add(const rpc::CallFlow& flow);
  void write(PrometheusText& out) const;

 private:
  struct Times {
    Times();
    Histogram whole, receive, queue, compute, send, input, output;
  };
  struct Totals {
    std::int64_t voxels = 0;
    std::int64_t patches = 0;
    std::int64_t bytes_in = 0;
    std::int64_t bytes_out = 0;
  };
  using Model = std::pair<std::string, std::string>;                               // name, version
  using Outcome = std::tuple<std::string, std::string, std::string, std::string>;  // method, name, version, code
  using Served = std::tuple<std::string, std::string, std::string>;                // method, name, version

  mutable std::mutex mutex_;  // guards all below
  std::map<Outcome, std::int64_t> calls_;
  std::map<Served, Times> times_;  // of calls that succeeded
  std::map<Model, Totals> totals_;
  std::array<std::int64_t, rpc::refusals.size()> refused_ = {};  // by their places there
};

}  // namespace znni
