// Turns statuses of the protocol's calls into those of HTTP.
#pragma once

#include <grpcpp/support/status.h>

#include <string_view>

namespace znni::rest {

// Returns the status of HTTP for `code`. `refusal` says why a call that carried voxels was refused
// (server/rpc/calls/refusal.hpp), or is "". It tells a request that never fits from one that finds no memory now.
[[nodiscard]] int http_status(grpc::StatusCode code, std::string_view refusal);

}  // namespace znni::rest
