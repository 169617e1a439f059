// Whether the caller of a gRPC call still wants the answer.
#pragma once

#include <grpcpp/server_context.h>

#include <optional>

#include "primitives/core/result.hpp"
#include "server/rpc/stall.hpp"

namespace znni::rpc {

// cancelled or deadline_exceeded when the caller gave up, is gone or its deadline has passed. May be asked
// from any thread while the call's handler runs.
[[nodiscard]] std::optional<Error> gone(const grpc::ServerContext& context);

// Ends the call at once: its client sees the error, and whoever waits for the client in a read or write wakes up. From
// any thread while the call's handler runs.
void end_call(grpc::ServerContext& context, const Error& error);

// What a call ends with whose client did nothing for too long.
[[nodiscard]] Error stalled();

// As gone(); and a call whose client stalls is ended, deadline_exceeded.
[[nodiscard]] std::optional<Error> gone_or_stalled(grpc::ServerContext& context, const Stall& stall);

}  // namespace znni::rpc
