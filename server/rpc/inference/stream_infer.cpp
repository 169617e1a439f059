#include "server/rpc/inference/stream_infer.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>

#include "primitives/core/shape.hpp"
#include "server/jobs/memory_shares.hpp"
#include "server/rpc/base/bytes.hpp"
#include "server/rpc/base/status_map.hpp"
#include "server/rpc/calls/caller.hpp"
#include "server/rpc/inference/infer_exchange.hpp"

namespace znni::rpc {
namespace {

bool wants_statuses(const grpc::ServerContext& context) {
  const auto found = context.client_metadata().find("triton_grpc_error");
  return found != context.client_metadata().end() && found->second == "true";
}

class InferStreamCall {
 public:
  InferStreamCall(FrontDoor& door, grpc::ServerContext& context, InferResponseStream& stream)
      : door_(door), context_(context), stream_(stream), stall_(door.limits.seconds_for(largest_message())) {}

  Result<void> run() {
    const std::int64_t most = largest_message();
    const std::int64_t held = mul(copies_while_received, most);
    const Result<TransportLease> lease = door_.models.lease(held);
    if (!lease) {
      InferExchange exchange(door_, context_, "ModelStreamInfer");
      exchange.want(held);
      return refuse(exchange, lease.error().within("a stream of requests of up to " + bytes_text(most) + " each"));
    }
    const WatchedCall call = door_.watch.watch([this] { return why_to_end(); });
    const Result<void> done = answer_all();
    return done ? done : call.reason(done.error());
  }

 private:
  [[nodiscard]] std::int64_t largest_message() const {
    return std::max(door_.limits.wire.max_request_bytes, door_.limits.wire.max_response_bytes);
  }

  // Returns why the stream ends, for example because the server ends between two requests. Asks the gate first: a
  // stream that reads after that finds it closed when it has read, so no request is cut off that would be answered.
  std::optional<Error> why_to_end() {
    if (!door_.gate.closed() || !is_reading_) return gone_or_stalled(context_, stall_);
    end_call(context_, shutting_down());
    return shutting_down();
  }

  Result<void> answer_all() {
    const bool statuses = wants_statuses(context_);
    while (true) {
      InferExchange exchange(door_, context_, "ModelStreamInfer");
      grpc::ByteBuffer wire;
      if (!read(wire)) return all_read();
      if (door_.gate.closed()) return refuse(exchange, shutting_down());
      const Result<void> answered = answer(exchange, wire, statuses);
      exchange.finish(answered);
      if (!answered && (statuses || write_failed_)) return answered;
    }
  }

  static Result<void> refuse(InferExchange& exchange, const Error& error) {
    exchange.finish(error);
    return error;
  }

  // Returns how the request ended. Its response, good or bad, was sent, unless errors end the stream.
  Result<void> answer(InferExchange& exchange, grpc::ByteBuffer& wire, bool statuses) {
    exchange.admit(wire, false);
    inference::ModelStreamInferResponse response;
    inference::ModelInferResponse& infer = *response.mutable_infer_response();
    Result<void> done = exchange.compute(infer);
    if (!done && statuses) return done;
    if (!done) {
      infer.Clear();
      infer.set_id(exchange.id());
      response.set_error_message(to_status(done.error()).error_message());
    } else {
      (*infer.mutable_parameters())["triton_final_response"].set_bool_param(true);
    }
    const auto bytes = static_cast<std::int64_t>(response.ByteSizeLong());
    write_failed_ = !write(response);
    response.Clear();
    trim_heap_after(bytes);
    if (write_failed_) return Error{ErrorCode::cancelled, "the caller is gone"};
    return done;
  }

  [[nodiscard]] bool read(grpc::ByteBuffer& wire) {
    const Stall::Wait wait(stall_);
    is_reading_ = true;
    const bool is_here = stream_.Read(&wire);
    is_reading_ = false;
    return is_here;
  }
  [[nodiscard]] bool write(const inference::ModelStreamInferResponse& response) {
    const Stall::Wait wait(stall_);
    return stream_.Write(response);
  }
  [[nodiscard]] Result<void> all_read() const {
    if (std::optional<Error> error = gone(context_)) return *error;
    return {};
  }

  FrontDoor& door_;
  grpc::ServerContext& context_;
  InferResponseStream& stream_;
  Stall stall_;
  std::atomic<bool> is_reading_ = false;
  bool write_failed_ = false;
};

}  // namespace

Result<void> stream_infer(FrontDoor& door, grpc::ServerContext& context, InferResponseStream& stream) {
  return InferStreamCall(door, context, stream).run();
}

}  // namespace znni::rpc
