#include "server/rpc/calls/caller.hpp"

#include <grpc/grpc.h>

#include <chrono>

#include "server/rpc/base/status_map.hpp"

namespace znni::rpc {
namespace {

// The caller's own clock ends a call a moment before the deadline that reached us.
constexpr std::chrono::milliseconds early{50};

}  // namespace

std::optional<Error> gone(const grpc::ServerContext& context) {
  const auto left = context.deadline() - std::chrono::system_clock::now();
  const bool cancelled = context.IsCancelled();
  if (left <= left.zero() || (cancelled && left < early)) {
    return Error{ErrorCode::deadline_exceeded, "the caller's deadline has passed"};
  }
  if (cancelled) return Error{ErrorCode::cancelled, "the caller cancelled or is gone"};
  return std::nullopt;
}

std::optional<Error> GrpcCaller::gone() const { return rpc::gone(context_); }

// Ends a call with a reason. ServerContext::TryCancel() does the same, but says CANCELLED whatever the reason.
void end_call(grpc::ServerContext& context, const Error& error) {
  const grpc::Status status = to_status(error);
  grpc_call_cancel_with_status(context.c_call(), static_cast<grpc_status_code>(status.error_code()),
                               status.error_message().c_str(), nullptr);
}

Error stalled() { return {ErrorCode::deadline_exceeded, "the caller neither sent nor took anything for too long"}; }

std::optional<Error> gone_or_stalled(grpc::ServerContext& context, const Stall& stall) {
  if (std::optional<Error> error = gone(context)) return error;
  if (!stall.too_long()) return std::nullopt;
  end_call(context, stalled());
  return stalled();
}

}  // namespace znni::rpc
