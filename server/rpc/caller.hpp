// Whether the caller of a gRPC call still wants the answer.
#pragma once

#include <grpcpp/server_context.h>

#include <optional>

#include "primitives/core/result.hpp"

namespace znni::rpc {

// cancelled or deadline_exceeded when the caller gave up, is gone or its deadline has passed. May be asked
// from any thread while the call's handler runs.
[[nodiscard]] std::optional<Error> gone(const grpc::ServerContext& context);

}  // namespace znni::rpc
