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

// What a call ends with whose client did nothing for too long.
[[nodiscard]] Error stalled();

// As gone(); and a call whose client stalls is cancelled, so that whoever waits for it in a read or write wakes
// up, and is deadline_exceeded.
[[nodiscard]] std::optional<Error> gone_or_stalled(grpc::ServerContext& context, const Stall& stall);

}  // namespace znni::rpc
