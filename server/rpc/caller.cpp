#include "server/rpc/caller.hpp"

#include <chrono>

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

Error stalled() { return {ErrorCode::deadline_exceeded, "the caller neither sent nor took anything for too long"}; }

std::optional<Error> gone_or_stalled(grpc::ServerContext& context, const Stall& stall) {
  if (std::optional<Error> error = gone(context)) return error;
  if (!stall.too_long()) return std::nullopt;
  context.TryCancel();
  return stalled();
}

}  // namespace znni::rpc
