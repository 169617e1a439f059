#include "server/rpc/inference/infer_exchange.hpp"

#include <atomic>
#include <optional>
#include <string>
#include <utility>

#include "primitives/core/shape.hpp"
#include "server/rpc/base/bytes.hpp"
#include "server/rpc/base/client_text.hpp"
#include "server/rpc/base/status_map.hpp"
#include "server/rpc/calls/caller.hpp"
#include "server/rpc/calls/layer_text.hpp"
#include "server/rpc/messages/raw_message.hpp"

namespace znni::rpc {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

// Fails if a message is longer than voxels and what is beside them may be.
Result<void> check_length(std::int64_t bytes, std::int64_t max_voxel_bytes) {
  if (bytes <= add(max_voxel_bytes, max_small_message_bytes)) return {};
  return Error{ErrorCode::over_budget,
               "the message has " + std::to_string(bytes) + " bytes, at most " + std::to_string(max_voxel_bytes) +
                   " of voxels are taken in one message; use the stream znni.v1.Volumes or a smaller volume"};
}

// Returns a probe that tells why a call shall end: its caller gave up, or by the time `now` it has waited for its turn
// longer than the request allows.
CallWatch::Probe make_probe(const Caller& caller, std::int64_t timeout_us, const std::atomic<bool>& started,
                            const Now& now) {
  const Clock::time_point received = now();
  return [&caller, timeout_us, &started, &now, received]() -> std::optional<Error> {
    if (timeout_us > 0 && !started && now() - received > std::chrono::microseconds(timeout_us)) {
      return Error{
          ErrorCode::deadline_exceeded,
          "Request timeout expired: waited longer than the request's timeout of " + std::to_string(timeout_us) + " us"};
    }
    return caller.gone();
  };
}

}  // namespace

InferExchange::InferExchange(FrontDoor& door, std::unique_ptr<const Caller> caller, std::string_view method)
    : door_(door), caller_(std::move(caller)) {
  record_.method = method;
}

InferExchange::InferExchange(FrontDoor& door, const grpc::ServerContext& context, std::string_view method)
    : InferExchange(door, std::make_unique<GrpcCaller>(context), method) {}

void InferExchange::admit(grpc::ByteBuffer& wire, bool leased) {
  record_.bytes_in = static_cast<std::int64_t>(wire.Length());
  keep(check(wire, leased));
}

void InferExchange::admit(std::unique_ptr<inference::ModelInferRequest> request, std::int64_t bytes) {
  record_.bytes_in = bytes;
  record_.receive_seconds = seconds_between(start_, Clock::now());
  request_ = std::move(request);
  keep(check_request(true));
}

void InferExchange::keep(Result<AdmittedInfer> admitted) {
  admitted_ = std::move(admitted);
  if (admitted_) record_.version = admitted_->model.version;
  CallFlow flow;
  flow.bytes_in = record_.bytes_in;
  door_.note(record_, std::move(flow));
  if (admitted_) return;
  request_.reset();
  trim_heap_after(record_.bytes_in);
}

Result<AdmittedInfer> InferExchange::check(grpc::ByteBuffer& wire, bool leased) {
  const std::int64_t most = door_.limits.wire.max_request_bytes;
  Result<void> parsed = check_length(record_.bytes_in, most);
  if (parsed) parsed = parse(wire, add(most, max_small_message_bytes), *request_);
  wire.Clear();
  // The memory in which gRPC received the message is free again.
  trim_heap_after(record_.bytes_in);
  record_.receive_seconds = seconds_between(start_, Clock::now());
  if (!parsed) return parsed.error();
  return check_request(leased);
}

Result<AdmittedInfer> InferExchange::check_request(bool leased) {
  record_.model = one_line(request_->model_name(), 80);
  record_.id = one_line(request_->id(), 80);
  const bool shares_memory = door_.limits.offer_shared_memory && caller_->may_share_memory();
  const SharedRegions* regions = shares_memory ? &door_.regions : nullptr;
  const WireLimits& wire = door_.limits.wire;
  return admit_infer(*request_, door_.models,
                     {wire.max_response_bytes, regions, leased, &wanted_bytes_, wire.max_request_bytes});
}

Result<void> InferExchange::compute(inference::ModelInferResponse& response) {
  Result<void> done = run(response);
  const auto bytes = request_ ? static_cast<std::int64_t>(request_->ByteSizeLong()) : 0;
  request_.reset();
  trim_heap_after(bytes);
  computed_ = Clock::now();
  return done;
}

Result<void> InferExchange::run(inference::ModelInferResponse& response) {
  if (!admitted_) return admitted_.error();
  std::atomic<bool> started = false;
  const std::int64_t timeout_us = admitted_->request.parameters.timeout_us;
  const WatchedCall call = door_.watch.watch(make_probe(*caller_, timeout_us, started, door_.clock));
  const InferEvents events = {[&started](bool in_turn) { started = in_turn; },
                              [this](const JobGain& gain) { door_.note(record_, gain); }};
  const Result<JobStatistics> done = run_infer(*request_, *admitted_, door_.models, call.token(), events, response);
  if (!done) return call.reason(done.error());
  record_.queue_seconds = done->queued + done->yielded;
  record_.compute_seconds = done->seconds - done->yielded;
  record_.layers = layer_text(admitted_->model, done->stages);
  record_.patches = done->patches;
  record_.nonfinite_voxels = done->replaced;
  record_.voxels = output_voxels(*admitted_);
  record_.bytes_out = static_cast<std::int64_t>(response.ByteSizeLong());
  return {};
}

void InferExchange::finish(const Result<void>& result) {
  const Clock::time_point now = Clock::now();
  if (!result) record_.bytes_out = 0;  // nothing was sent
  CallFlow flow;
  flow.bytes_out = record_.bytes_out;
  door_.note(record_, std::move(flow));
  door_.note_end(result, admitted_ ? &admitted_->model : nullptr, wanted_bytes_, record_);
  record_.seconds = seconds_between(start_, now);
  record_.send_seconds = computed_ == Clock::time_point() ? 0 : seconds_between(computed_, now);
  door_.record(record_);
}

}  // namespace znni::rpc
