// Why calls that carry volumes are refused, in few words: what metrics count by.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "primitives/core/result.hpp"

namespace znni::rpc {

// All reasons, in this order: the job queue is full; too many calls are inside; too many of its client are; other
// requests hold the memory. The request needs more than any client is given (or its caller went when its connection had
// brought that much: gRPC does not tell these apart). Its deadline, its timeout, or the patience with an idle client
// has passed; the daemon ends; its model is loading, failed to load or was loaded again; there is no such model or
// region; it is malformed; it is not offered; it has no token.
inline constexpr std::array<std::string_view, 12> refusals = {
    "queue_full",    "calls",     "client_calls", "memory",    "too_large",   "deadline",
    "shutting_down", "not_ready", "not_found",    "malformed", "unsupported", "unauthenticated"};

// The facts of a refused call, beside its error.
struct RefusedCall {
  bool closing = false;           // the daemon takes no more
  bool served = false;            // its model was found, and serves still
  std::int64_t wanted_bytes = 0;  // of the memory of requests; 0 before that is known
  std::int64_t max_bytes = 0;     // that all requests have
};

// Returns one of `refusals`; "" if the call was not refused: a caller that gave up, a fault of ours.
[[nodiscard]] std::string_view refusal_of(ErrorCode code, const RefusedCall& call);

}  // namespace znni::rpc
