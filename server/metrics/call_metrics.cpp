#include "server/metrics/call_metrics.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace znni {
namespace {

// Bounds of the histograms in seconds, from a millisecond to hours: volumes differ.
constexpr std::array<double, 15> bounds = {0.001, 0.003, 0.01, 0.03, 0.1,  0.3,  1,    3,
                                           10,    30,    100,  300,  1000, 3000, 10000};

}  // namespace

CallMetrics::Times::Times()
    : whole(bounds), receive(bounds), queue(bounds), compute(bounds), send(bounds), input(bounds), output(bounds) {}

void CallMetrics::add(const rpc::CallFlow& flow) {
  const std::scoped_lock lock(mutex_);
  Totals& totals = totals_[{flow.version.empty() ? "" : flow.model, flow.version}];
  totals.voxels += flow.voxels;
  totals.patches += flow.patches;
  totals.bytes_in += flow.bytes_in;
  totals.bytes_out += flow.bytes_out;
}

void CallMetrics::add(const rpc::CallRecord& call) {
  const std::string model = call.version.empty() ? "" : call.model;
  const std::scoped_lock lock(mutex_);
  ++calls_[{std::string(call.method), model, call.version, std::string(call.code)}];
  totals_.try_emplace({model, call.version});  // shown where nothing flowed, too
  const auto refusal = std::find(rpc::refusals.begin(), rpc::refusals.end(), call.refusal);
  if (refusal != rpc::refusals.end()) ++refused_[static_cast<std::size_t>(refusal - rpc::refusals.begin())];
  if (call.code != "OK") return;
  Times& times = times_[{std::string(call.method), model, call.version}];
  times.whole.observe(call.seconds);
  times.receive.observe(call.receive_seconds);
  times.queue.observe(call.queue_seconds);
  times.compute.observe(call.compute_seconds);
  times.send.observe(call.send_seconds);
  times.input.observe(call.input_wait_seconds);
  times.output.observe(call.output_wait_seconds);
}

void CallMetrics::write(PrometheusText& out) const {
  const std::scoped_lock lock(mutex_);
  out.family("znni_requests_total", "counter", "Calls that carried volumes, by how they ended.");
  for (const auto& [outcome, count] : calls_) {
    const auto& [method, model, version, code] = outcome;
    out.sample({{"method", method}, {"model", model}, {"version", version}, {"code", code}}, count);
  }
  out.family("znni_refusals_total", "counter", "Of those: that were refused or ended by the server, by why.");
  for (std::size_t i = 0; i < refused_.size(); ++i)
    out.sample({{"reason", std::string(rpc::refusals[i])}}, refused_[i]);
  const auto histograms = [&](std::string_view name, std::string_view help, Histogram Times::*of) {
    out.family(name, "histogram", help);
    for (const auto& [served, times] : times_) {
      const auto& [method, model, version] = served;
      out.sample({{"method", method}, {"model", model}, {"version", version}}, times.*of);
    }
  };
  histograms("znni_request_seconds", "From the first message to the last, of calls that succeeded.", &Times::whole);
  histograms("znni_request_receive_seconds", "Of that: until the volume was received.", &Times::receive);
  histograms("znni_request_queue_seconds", "Of that: while other jobs had their turn.", &Times::queue);
  histograms("znni_request_compute_seconds", "Of that: computing.", &Times::compute);
  histograms("znni_request_send_seconds", "Of that: sending, after the last voxel was computed.", &Times::send);
  histograms("znni_request_input_wait_seconds", "Of queueing: nothing to compute, the client was too slow to send.",
             &Times::input);
  histograms("znni_request_output_wait_seconds", "Of queueing: no room to compute, the client was too slow to read.",
             &Times::output);
  const auto counter = [&](std::string_view name, std::string_view help, std::int64_t Totals::*of) {
    out.family(name, "counter", help);
    for (const auto& [model, totals] : totals_) {
      out.sample({{"model", model.first}, {"version", model.second}}, totals.*of);
    }
  };
  counter("znni_output_voxels_total", "Dense output voxels computed, channels not counted.", &Totals::voxels);
  counter("znni_patches_total", "Patches, or steps of a stream, computed.", &Totals::patches);
  counter("znni_received_bytes_total", "Bytes of volumes received.", &Totals::bytes_in);
  counter("znni_sent_bytes_total", "Bytes of volumes sent.", &Totals::bytes_out);
}

}  // namespace znni
