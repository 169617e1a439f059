// Statuses of the protocol's calls as those of HTTP.
#pragma once

#include <grpcpp/support/status.h>

#include <string_view>

namespace znni::rest {

// Returns the status of HTTP for `code`. `refusal`: why a call that carried voxels was refused
// (server/rpc/refusal.hpp), or "": what is too large for ever is another status than what there is no memory for just
// now.
[[nodiscard]] int http_status(grpc::StatusCode code, std::string_view refusal);

}  // namespace znni::rest
